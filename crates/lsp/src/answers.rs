//! Requests about a text, answered from its analysis: what is bytes there becomes positions and the protocol's types here.

use crate::analysis::{Color, ProposalKind};
use crate::config::Config;
use crate::index::{Index, Kind, Occurrence, Symbol};
use crate::snapshot::Snapshot;
use lsp_server::{ErrorCode, ResponseError};
use lsp_types as lsp;
use ptx::diagnostic::{Diagnostic, Severity};
use ptx::source::Span;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::HashMap;

/// Symbols that a search in all texts gives, at most.
const MOST_SYMBOLS: usize = 500;

/// The page with the codes of diagnostics.
const CODES: &str = "https://github.com/warploom/warploom/blob/main/docs/diagnostics.md";

pub(crate) type Answer = Result<Value, ResponseError>;

pub(crate) fn error(code: ErrorCode, message: impl Into<String>) -> ResponseError {
    ResponseError { code: code as i32, message: message.into(), data: None }
}

/// The requests about one text that there are.
pub(crate) const METHODS: [&str; 18] = [
    "textDocument/hover",
    "textDocument/definition",
    "textDocument/references",
    "textDocument/documentHighlight",
    "textDocument/documentSymbol",
    "textDocument/completion",
    "textDocument/signatureHelp",
    "textDocument/prepareRename",
    "textDocument/rename",
    "textDocument/foldingRange",
    "textDocument/selectionRange",
    "textDocument/formatting",
    "textDocument/inlayHint",
    "textDocument/semanticTokens/full",
    "textDocument/semanticTokens/range",
    "textDocument/codeAction",
    "textDocument/codeLens",
    "textDocument/declaration",
];

/// The answer to a request about a text.
pub(crate) fn answer(at: &Snapshot, config: &Config, method: &str, params: Value) -> Answer {
    match method {
        "textDocument/hover" => hover(at, &read(params)?),
        "textDocument/definition" | "textDocument/declaration" => definition(at, &read(params)?),
        "textDocument/references" => references(at, &read(params)?),
        "textDocument/documentHighlight" => highlight(at, &read(params)?),
        "textDocument/documentSymbol" => write(outline(at)),
        "textDocument/completion" => completion(at, &read(params)?),
        "textDocument/signatureHelp" => signature(at, &read(params)?),
        "textDocument/prepareRename" => prepare_rename(at, &read(params)?),
        "textDocument/rename" => rename(at, &read(params)?),
        "textDocument/foldingRange" => write(folds(at)),
        "textDocument/selectionRange" => selections(at, &read(params)?),
        "textDocument/formatting" => format(at),
        "textDocument/inlayHint" => hints(at, config, &read(params)?),
        "textDocument/semanticTokens/full" => write(colors(at, None)),
        "textDocument/semanticTokens/range" => {
            let params: lsp::SemanticTokensRangeParams = read(params)?;
            write(colors(at, Some(at.span(params.range))))
        }
        "textDocument/codeAction" => actions(at, &read(params)?),
        "textDocument/codeLens" => write(lenses(at)),
        _ => Err(error(ErrorCode::MethodNotFound, format!("there is no request {method}"))),
    }
}

fn read<T: DeserializeOwned>(params: Value) -> Result<T, ResponseError> {
    serde_json::from_value(params).map_err(|reason| error(ErrorCode::InvalidParams, reason.to_string()))
}

fn write(value: impl serde::Serialize) -> Answer {
    serde_json::to_value(value).map_err(|reason| error(ErrorCode::InternalError, reason.to_string()))
}

fn offset(at: &Snapshot, params: &lsp::TextDocumentPositionParams) -> u32 {
    at.offset(params.position)
}

fn index(at: &Snapshot) -> &Index {
    at.analysis.index()
}

fn name_at<'a>(at: &'a Snapshot, params: &lsp::TextDocumentPositionParams) -> Option<&'a Occurrence> {
    index(at).at(offset(at, params))
}

fn hover(at: &Snapshot, params: &lsp::HoverParams) -> Answer {
    let found = at.analysis.hover(offset(at, &params.text_document_position_params));
    write(found.map(|(span, value)| lsp::Hover {
        contents: lsp::HoverContents::Markup(lsp::MarkupContent { kind: lsp::MarkupKind::Markdown, value }),
        range: Some(at.range(span)),
    }))
}

fn location(at: &Snapshot, span: Span) -> lsp::Location {
    lsp::Location::new(at.uri.clone(), at.range(span))
}

fn definition(at: &Snapshot, params: &lsp::GotoDefinitionParams) -> Answer {
    let name = name_at(at, &params.text_document_position_params);
    write(name.map(|name| location(at, index(at).symbol(name).declared)))
}

fn references(at: &Snapshot, params: &lsp::ReferenceParams) -> Answer {
    let Some(name) = name_at(at, &params.text_document_position) else { return Ok(Value::Null) };
    let declared = index(at).symbol(name).declared.start;
    let wanted = |one: &&Occurrence| params.context.include_declaration || one.span.start != declared;
    let all: Vec<_> = index(at).same(*name).filter(wanted).map(|one| location(at, one.span)).collect();
    write(all)
}

fn highlight(at: &Snapshot, params: &lsp::DocumentHighlightParams) -> Answer {
    let Some(name) = name_at(at, &params.text_document_position_params) else { return Ok(Value::Null) };
    let kind = |one: &Occurrence| match one.written {
        true => lsp::DocumentHighlightKind::WRITE,
        false => lsp::DocumentHighlightKind::READ,
    };
    let all = index(at).same(*name);
    let all = all.map(|one| lsp::DocumentHighlight { range: at.range(one.span), kind: Some(kind(one)) });
    write(all.collect::<Vec<_>>())
}

fn symbol_kind(kind: Kind) -> lsp::SymbolKind {
    match kind {
        Kind::Register => lsp::SymbolKind::VARIABLE,
        Kind::Label => lsp::SymbolKind::KEY,
        Kind::Kernel | Kind::Function => lsp::SymbolKind::FUNCTION,
        Kind::Variable => lsp::SymbolKind::FIELD,
        Kind::Parameter => lsp::SymbolKind::CONSTANT,
        Kind::Prototype => lsp::SymbolKind::INTERFACE,
        Kind::Section => lsp::SymbolKind::NAMESPACE,
        Kind::Thread => lsp::SymbolKind::CLASS,
    }
}

fn title(symbol: &Symbol) -> String {
    symbol.count.map_or(symbol.name.clone(), |count| format!("{}<{count}>", symbol.name))
}

fn outline(at: &Snapshot) -> Vec<lsp::DocumentSymbol> {
    let symbols = &index(at).symbols;
    let mut children: HashMap<Option<u32>, Vec<u32>> = HashMap::new();
    for (number, symbol) in (0..).zip(symbols) {
        children.entry(symbol.parent).or_default().push(number);
    }
    let node = |number: u32, children: Option<Vec<lsp::DocumentSymbol>>| {
        let symbol = &symbols[number as usize];
        #[allow(deprecated)] // A field that has a successor is still one to fill in.
        lsp::DocumentSymbol {
            name: title(symbol),
            detail: Some(symbol.detail.clone()),
            kind: symbol_kind(symbol.kind),
            tags: None,
            deprecated: None,
            range: at.range(symbol.whole.to(symbol.declared)),
            selection_range: at.range(symbol.declared),
            children,
        }
    };
    // Functions have symbols within, and these none.
    let leaves = |number: u32| -> Vec<lsp::DocumentSymbol> {
        children.get(&Some(number)).into_iter().flatten().map(|child| node(*child, None)).collect()
    };
    let roots = children.get(&None).into_iter().flatten();
    roots.map(|number| node(*number, Some(leaves(*number)))).collect()
}

/// Symbols of all texts whose names have a text within.
pub(crate) fn workspace_symbols<'a>(all: impl Iterator<Item = &'a Snapshot>, query: &str) -> Answer {
    let query = query.to_lowercase();
    let mut found = Vec::new();
    for at in all {
        let symbols = &index(at).symbols;
        let named = symbols
            .iter()
            .filter(|one| one.kind != Kind::Register && one.name.to_lowercase().contains(&query));
        found.extend(named.take(MOST_SYMBOLS - found.len()).map(|symbol| {
            let container = symbol.parent.map(|parent| symbols[parent as usize].name.clone());
            json!({
                "name": title(symbol), "kind": symbol_kind(symbol.kind), "containerName": container,
                "location": location(at, symbol.declared),
            })
        }));
    }
    Ok(Value::Array(found))
}

fn completion(at: &Snapshot, params: &lsp::CompletionParams) -> Answer {
    let proposals = at.analysis.complete(offset(at, &params.text_document_position));
    let range = at.range(proposals.replace);
    let kind = |kind: ProposalKind| match kind {
        ProposalKind::Instruction => lsp::CompletionItemKind::KEYWORD,
        ProposalKind::Modifier => lsp::CompletionItemKind::ENUM_MEMBER,
        ProposalKind::Directive => lsp::CompletionItemKind::PROPERTY,
        ProposalKind::Special => lsp::CompletionItemKind::CONSTANT,
        ProposalKind::Name(Kind::Kernel | Kind::Function) => lsp::CompletionItemKind::FUNCTION,
        ProposalKind::Name(Kind::Label | Kind::Prototype) => lsp::CompletionItemKind::REFERENCE,
        ProposalKind::Name(Kind::Section | Kind::Thread) => lsp::CompletionItemKind::MODULE,
        ProposalKind::Name(Kind::Register | Kind::Variable | Kind::Parameter) => {
            lsp::CompletionItemKind::VARIABLE
        }
    };
    let items = proposals.list.into_iter().enumerate().map(|(place, one)| lsp::CompletionItem {
        label: one.text.clone(),
        kind: Some(kind(one.kind)),
        detail: Some(one.detail),
        sort_text: Some(format!("{}{place:05}", one.rank)),
        filter_text: Some(one.text.clone()),
        text_edit: Some(lsp::CompletionTextEdit::Edit(lsp::TextEdit::new(range, one.text))),
        ..lsp::CompletionItem::default()
    });
    write(items.collect::<Vec<_>>())
}

fn signature(at: &Snapshot, params: &lsp::SignatureHelpParams) -> Answer {
    let (signatures, active) = at.analysis.signatures(offset(at, &params.text_document_position_params));
    if signatures.is_empty() {
        return Ok(Value::Null);
    }
    let signatures = signatures.into_iter().map(|one| {
        let parameters = one.operands.into_iter().map(|(range, detail)| lsp::ParameterInformation {
            // The notation of the manual is ASCII: bytes are units.
            label: lsp::ParameterLabel::LabelOffsets([range.start as u32, range.end as u32]),
            documentation: Some(lsp::Documentation::String(detail)),
        });
        lsp::SignatureInformation {
            parameters: Some(parameters.collect()),
            label: one.text,
            documentation: Some(lsp::Documentation::String(one.detail)),
            active_parameter: None,
        }
    });
    let signatures = signatures.collect();
    write(lsp::SignatureHelp { signatures, active_signature: Some(0), active_parameter: Some(active) })
}

fn renamed(
    at: &Snapshot,
    params: &lsp::TextDocumentPositionParams,
    to: Option<&str>,
) -> Result<Occurrence, ResponseError> {
    let refuse = |message: String| error(ErrorCode::RequestFailed, message);
    let name =
        name_at(at, params).ok_or_else(|| refuse("there is no name that can be changed here".into()))?;
    at.analysis.renamable(name, to).map_err(refuse)?;
    Ok(*name)
}

fn prepare_rename(at: &Snapshot, params: &lsp::TextDocumentPositionParams) -> Answer {
    let name = renamed(at, params, None)?;
    let span = index(at).stem(&name);
    let placeholder = at.source.slice(span).to_owned();
    write(lsp::PrepareRenameResponse::RangeWithPlaceholder { range: at.range(span), placeholder })
}

fn rename(at: &Snapshot, params: &lsp::RenameParams) -> Answer {
    let name = renamed(at, &params.text_document_position, Some(&params.new_name))?;
    // A set is renamed as a whole: its names share the beginning.
    let all = index(at).occurrences.iter().filter(|one| one.symbol == name.symbol);
    let edits = all.map(|one| lsp::TextEdit::new(at.range(index(at).stem(one)), params.new_name.clone()));
    let edits: Vec<_> = edits.collect();
    Ok(json!({ "changes": { at.uri.as_str(): edits } }))
}

fn folds(at: &Snapshot) -> Vec<Value> {
    let spans = at.analysis.folds().into_iter();
    let lines =
        spans.map(|span| (at.lines.line(span.start as usize), at.lines.line(span.end as usize), span));
    let folds = lines.filter(|(from, to, _)| from < to).map(|(from, to, span)| {
        let comment = at.source.slice(span).starts_with(['/', '(']);
        json!({ "startLine": from, "endLine": to, "kind": if comment { "comment" } else { "region" } })
    });
    folds.collect()
}

fn selections(at: &Snapshot, params: &lsp::SelectionRangeParams) -> Answer {
    let whole = Span::new(0, at.source.text().len() as u32);
    let all = params.positions.iter().map(|position| {
        let offset = at.offset(*position);
        let holds = |span: &Span| span.start <= offset && offset <= span.end;
        let mut spans: Vec<Span> = at.analysis.folds().into_iter().filter(holds).collect();
        let symbols = index(at).symbols.iter().map(|symbol| symbol.whole);
        spans.extend(symbols.filter(holds));
        spans.extend(at.analysis.statement(offset));
        spans.extend(index(at).at(offset).map(|name| name.span));
        spans.push(whole);
        spans.sort_by_key(|span| (span.end - span.start, span.start));
        spans.dedup();
        // Each within the next one.
        let mut nested: Vec<Span> = Vec::new();
        for span in spans {
            if nested.last().is_none_or(|inner| span.start <= inner.start && inner.end <= span.end) {
                nested.push(span);
            }
        }
        let outer = nested
            .into_iter()
            .rev()
            .fold(None, |parent, span| Some(Box::new(lsp::SelectionRange { range: at.range(span), parent })));
        outer.map_or(lsp::SelectionRange { range: at.range(whole), parent: None }, |one| *one)
    });
    write(all.collect::<Vec<_>>())
}

fn format(at: &Snapshot) -> Answer {
    let text = at.analysis.format().map_err(|reason| error(ErrorCode::RequestFailed, reason))?;
    if text == at.source.text() {
        return write(Vec::<lsp::TextEdit>::new());
    }
    let whole = at.range(Span::new(0, at.source.text().len() as u32));
    write(vec![lsp::TextEdit::new(whole, text)])
}

fn hints(at: &Snapshot, config: &Config, params: &lsp::InlayHintParams) -> Answer {
    let hints = at.analysis.hints(at.span(params.range), &config.hints).into_iter();
    let hints = hints
        .map(|(offset, text)| json!({ "position": at.position(offset), "label": text, "paddingLeft": true }));
    Ok(Value::Array(hints.collect()))
}

fn colors(at: &Snapshot, within: Option<Span>) -> lsp::SemanticTokens {
    let mut data = Vec::new();
    let (mut line, mut column) = (0, 0);
    let mut push = |span: Span, color: Color| {
        let range = at.range(span);
        if range.start.line != line {
            column = 0;
        }
        data.push(lsp::SemanticToken {
            delta_line: range.start.line - line,
            delta_start: range.start.character - column,
            length: range.end.character - range.start.character,
            token_type: color as u32,
            token_modifiers_bitset: 0,
        });
        (line, column) = (range.start.line, range.start.character);
    };
    for (span, color) in at.analysis.colors() {
        if within.is_some_and(|within| span.end < within.start || within.end < span.start) {
            continue;
        }
        // A token of several lines is one for each of them.
        let mut start = span.start;
        for part in at.source.slice(span).split_inclusive(['\n', '\r']) {
            let length = part.trim_end_matches(['\n', '\r']).len() as u32;
            if length > 0 {
                push(Span::new(start, start + length), color);
            }
            start += part.len() as u32;
        }
    }
    lsp::SemanticTokens { result_id: None, data }
}

fn actions(at: &Snapshot, params: &lsp::CodeActionParams) -> Answer {
    let wanted = at.span(params.range);
    let here = at
        .analysis
        .diagnostics()
        .iter()
        .filter(|one| one.span.start <= wanted.end && wanted.start <= one.span.end);
    let mut found: Vec<Value> = Vec::new();
    for one in here {
        for fix in at.analysis.fixes(one) {
            let edit = lsp::TextEdit::new(at.range(fix.span), fix.with);
            let action = json!({
                "title": fix.title, "kind": "quickfix", "isPreferred": fix.preferred,
                "diagnostics": [diagnostic(at, one)], "edit": { "changes": { at.uri.as_str(): [edit] } },
            });
            // Several diagnostics can ask for the same.
            if !found.iter().any(|other| other["edit"] == action["edit"]) {
                found.push(action);
            }
        }
    }
    Ok(Value::Array(found))
}

fn lenses(at: &Snapshot) -> Vec<Value> {
    let lenses = at.analysis.lenses().into_iter();
    lenses
        .map(|(span, text)| json!({ "range": at.range(span), "command": { "title": text, "command": "" } }))
        .collect()
}

/// A diagnostic as the protocol has it.
pub(crate) fn diagnostic(at: &Snapshot, one: &Diagnostic) -> lsp::Diagnostic {
    let mut message = one.message.clone();
    if !one.label.is_empty() {
        message.push_str(": ");
        message.push_str(&one.label);
    }
    if let Some(hint) = &one.hint {
        message.push('\n');
        message.push_str(hint);
    }
    let related = one.related.iter().map(|(span, message)| lsp::DiagnosticRelatedInformation {
        location: location(at, *span),
        message: message.clone(),
    });
    let described = at.analysis.explain(one.code).is_some();
    let code_description = CODES.parse().ok().filter(|_| described).map(|href| lsp::CodeDescription { href });
    lsp::Diagnostic {
        range: at.range(one.span),
        severity: Some(match one.severity {
            Severity::Error => lsp::DiagnosticSeverity::ERROR,
            Severity::Warning => lsp::DiagnosticSeverity::WARNING,
        }),
        code: (!one.code.is_empty()).then(|| lsp::NumberOrString::String(one.code.to_owned())),
        code_description,
        source: Some("warploom".into()),
        message,
        related_information: Some(related.collect()),
        tags: None,
        data: at.analysis.explain(one.code).map(|explanation| json!({ "explanation": explanation })),
    }
}
