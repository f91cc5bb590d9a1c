//! Messages in and out: texts and their versions, when they are looked at, and who answers.
//!
//! Three kinds of threads: this one takes messages and edits texts, which takes no time; one analyses each text that needs it,
//! one at a time a text; one answers requests in their order. A request waits until its text is analysed.

use crate::analysis::Language;
use crate::answers::{self, Answer, METHODS, error};
use crate::config::Config;
use crate::lines::Lines;
use crate::snapshot::Snapshot;
use crossbeam_channel::{Receiver, Sender, after, never, select, unbounded};
use lsp_server::{
    Connection, ErrorCode, Message, Notification, ProtocolError, Request, RequestId, Response, ResponseError,
};
use lsp_types as lsp;
use lsp_types::Uri;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What the server can do, as the answer to `initialize` has it.
pub fn capabilities() -> Value {
    json!({
        "positionEncoding": "utf-16",
        "textDocumentSync": { "openClose": true, "change": 2 },
        "hoverProvider": true,
        "definitionProvider": true,
        "declarationProvider": true,
        "referencesProvider": true,
        "documentHighlightProvider": true,
        "documentSymbolProvider": true,
        "workspaceSymbolProvider": true,
        "completionProvider": { "triggerCharacters": [".", "%", "$"] },
        "signatureHelpProvider": { "triggerCharacters": [" ", ","] },
        "renameProvider": { "prepareProvider": true },
        "foldingRangeProvider": true,
        "selectionRangeProvider": true,
        "documentFormattingProvider": true,
        "inlayHintProvider": true,
        "codeLensProvider": {},
        "codeActionProvider": { "codeActionKinds": ["quickfix"] },
        "semanticTokensProvider": {
            "legend": { "tokenTypes": crate::analysis::Color::NAMES, "tokenModifiers": [] },
            "full": true, "range": true,
        },
    })
}

/// A text that the client has opened.
struct Document {
    uri: Uri,
    language: Language,
    version: i32,
    /// Which state of which text this is: a client can open a text anew with a version that it had.
    revision: u64,
    text: String,
    lines: Lines,
    /// The last analysis.
    latest: Option<Arc<Snapshot>>,
    /// Whether one is being made.
    busy: bool,
    /// When the next one is to begin.
    due: Option<Instant>,
    /// Requests that need it.
    waiting: Vec<Request>,
}

impl Document {
    fn current(&self) -> Option<&Arc<Snapshot>> {
        self.latest.as_ref().filter(|latest| latest.revision == self.revision)
    }
}

/// What threads report.
enum Event {
    /// A text is analysed; `None` if that failed.
    Analysed(Uri, Option<Arc<Snapshot>>),
    Answered(RequestId, Answer),
}

/// A request with what answers it.
type Job = (RequestId, Box<dyn FnOnce() -> Answer + Send>);

struct Server {
    out: Sender<Message>,
    config: Config,
    documents: HashMap<String, Document>,
    events: Sender<Event>,
    jobs: Sender<Job>,
    /// Requests that the answering thread has.
    asked: HashSet<RequestId>,
    /// Those of them that nobody wants any more.
    cancelled: Arc<Mutex<HashSet<RequestId>>>,
    /// The last revision of any text.
    revision: u64,
}

/// Serves a client until it is done.
///
/// # Errors
/// If the client does not keep to the protocol.
pub fn serve(connection: &Connection) -> Result<(), ProtocolError> {
    let (id, params) = connection.initialize_start()?;
    let info = json!({ "name": "warploom", "version": env!("CARGO_PKG_VERSION") });
    connection.initialize_finish(id, json!({ "capabilities": capabilities(), "serverInfo": info }))?;
    let config = serde_json::from_value(params["initializationOptions"].clone()).unwrap_or_default();
    let (events, reports) = unbounded();
    let (jobs, queue) = unbounded::<Job>();
    let cancelled = Arc::new(Mutex::new(HashSet::new()));
    let answering = {
        let (events, cancelled) = (events.clone(), Arc::clone(&cancelled));
        std::thread::spawn(move || answer_all(&queue, &events, &cancelled))
    };
    let out = connection.sender.clone();
    let mut server = Server {
        out,
        config,
        documents: HashMap::new(),
        events,
        jobs,
        asked: HashSet::new(),
        cancelled,
        revision: 0,
    };
    let outcome = server.run(connection, &reports);
    drop(server);
    let _ = answering.join();
    outcome
}

/// Carries out jobs in their order. What panics is an error of its request, not of the server.
fn answer_all(queue: &Receiver<Job>, events: &Sender<Event>, cancelled: &Mutex<HashSet<RequestId>>) {
    for (id, job) in queue {
        let unwanted = cancelled.lock().unwrap_or_else(PoisonError::into_inner).contains(&id);
        let answer =
            if unwanted { Err(error(ErrorCode::RequestCanceled, "cancelled")) } else { guarded(job) };
        if events.send(Event::Answered(id, answer)).is_err() {
            return;
        }
    }
}

fn guarded(job: impl FnOnce() -> Answer) -> Answer {
    catch_unwind(AssertUnwindSafe(job)).unwrap_or_else(|_| Err(mistake()))
}

fn mistake() -> ResponseError {
    error(ErrorCode::InternalError, "the server has a mistake here: please report the text")
}

impl Server {
    fn run(&mut self, connection: &Connection, reports: &Receiver<Event>) -> Result<(), ProtocolError> {
        loop {
            let due = self.documents.values().filter(|one| !one.busy).filter_map(|one| one.due).min();
            let timer = due.map_or_else(never, |due| after(due.saturating_duration_since(Instant::now())));
            select! {
                recv(connection.receiver) -> message => match message {
                    Err(_) => return Ok(()),
                    Ok(Message::Request(request)) => {
                        if connection.handle_shutdown(&request)? {
                            return Ok(());
                        }
                        self.request(request);
                    }
                    Ok(Message::Notification(one)) if one.method == "exit" => return Ok(()),
                    Ok(Message::Notification(one)) => self.notification(one),
                    // The server asks nothing.
                    Ok(Message::Response(_)) => {}
                },
                recv(reports) -> event => match event {
                    Ok(Event::Analysed(uri, snapshot)) => self.analysed(&uri, snapshot),
                    Ok(Event::Answered(id, answer)) => {
                        self.asked.remove(&id);
                        self.cancelled.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
                        self.respond(id, answer);
                    }
                    Err(_) => return Ok(()),
                },
                recv(timer) -> _ => {}
            }
            self.start_due();
        }
    }

    fn send(&self, message: impl Into<Message>) {
        // A client that has gone away reads nothing; the next message says that it has.
        let _ = self.out.send(message.into());
    }

    fn respond(&self, id: RequestId, answer: Answer) {
        self.send(match answer {
            Ok(value) => Response::new_ok(id, value),
            Err(error) => Response::new_err(id, error.code, error.message),
        });
    }

    fn request(&mut self, request: Request) {
        if request.method == "workspace/symbol" {
            let query = request.params["query"].as_str().unwrap_or_default().to_owned();
            let all: Vec<_> = self.documents.values().filter_map(|one| one.latest.clone()).collect();
            return self
                .ask(request.id, move || answers::workspace_symbols(all.iter().map(|one| &**one), &query));
        }
        if !METHODS.contains(&&*request.method) {
            let message = format!("there is no request {}", request.method);
            return self.respond(request.id, Err(error(ErrorCode::MethodNotFound, message)));
        }
        let uri = request.params["textDocument"]["uri"].as_str().unwrap_or_default();
        let Some(document) = self.documents.get_mut(uri) else {
            let message = format!("the text `{uri}` is not open");
            return self.respond(request.id, Err(error(ErrorCode::InvalidParams, message)));
        };
        match document.current().cloned() {
            Some(snapshot) => self.ask_about(snapshot, request),
            None => {
                document.due = Some(Instant::now());
                document.waiting.push(request);
            }
        }
    }

    fn ask_about(&mut self, snapshot: Arc<Snapshot>, request: Request) {
        let config = self.config.clone();
        let Request { id, method, params } = request;
        self.ask(id, move || answers::answer(&snapshot, &config, &method, params));
    }

    fn ask(&mut self, id: RequestId, job: impl FnOnce() -> Answer + Send + 'static) {
        self.asked.insert(id.clone());
        if self.jobs.send((id.clone(), Box::new(job))).is_err() {
            self.respond(id, Err(error(ErrorCode::InternalError, "nobody answers any more")));
        }
    }

    fn notification(&mut self, notification: Notification) {
        let Notification { method, params } = notification;
        let done = match &*method {
            "textDocument/didOpen" => serde_json::from_value(params).map(|params| self.open(params)),
            "textDocument/didChange" => serde_json::from_value(params).map(|params| self.change(params)),
            "textDocument/didClose" => serde_json::from_value(params).map(|params| self.close(&params)),
            "workspace/didChangeConfiguration" => {
                let settings = &params["settings"];
                let own = if settings["warploom"].is_null() { settings } else { &settings["warploom"] };
                serde_json::from_value(own.clone()).map(|config| self.config = config)
            }
            "$/cancelRequest" => {
                self.cancel(&params["id"]);
                Ok(())
            }
            _ => Ok(()),
        };
        if let Err(reason) = done {
            let message = format!("{method}: {reason}");
            self.send(Notification::new(
                "window/logMessage".into(),
                json!({ "type": 1, "message": message }),
            ));
        }
    }

    fn open(&mut self, params: lsp::DidOpenTextDocumentParams) {
        let item = params.text_document;
        self.revision += 1;
        let document = Document {
            language: Language::of(&item.language_id, item.uri.path().as_str()),
            version: item.version,
            revision: self.revision,
            lines: Lines::new(&item.text),
            text: item.text,
            latest: None,
            busy: false,
            due: Some(Instant::now()),
            waiting: Vec::new(),
            uri: item.uri,
        };
        self.documents.insert(document.uri.as_str().to_owned(), document);
    }

    fn change(&mut self, params: lsp::DidChangeTextDocumentParams) {
        let Some(document) = self.documents.get_mut(params.text_document.uri.as_str()) else { return };
        for change in params.content_changes {
            let Some(range) = change.range else {
                document.lines = Lines::new(&change.text);
                document.text = change.text;
                continue;
            };
            let start = document.lines.offset(&document.text, range.start);
            let end = document.lines.offset(&document.text, range.end).max(start);
            document.lines.replace(&mut document.text, start..end, &change.text);
        }
        document.version = params.text_document.version;
        self.revision += 1;
        document.revision = self.revision;
        let rest = Duration::from_millis(self.config.debounce);
        document.due = Some(if document.waiting.is_empty() { Instant::now() + rest } else { Instant::now() });
    }

    fn close(&mut self, params: &lsp::DidCloseTextDocumentParams) {
        let Some(document) = self.documents.remove(params.text_document.uri.as_str()) else { return };
        for request in document.waiting {
            self.respond(request.id, Err(error(ErrorCode::RequestFailed, "the text was closed")));
        }
        let nothing = lsp::PublishDiagnosticsParams::new(document.uri, Vec::new(), None);
        self.send(Notification::new("textDocument/publishDiagnostics".into(), nothing));
    }

    fn cancel(&mut self, id: &Value) {
        let Ok(id) = serde_json::from_value::<RequestId>(id.clone()) else { return };
        let mut waited = false;
        for document in self.documents.values_mut() {
            let before = document.waiting.len();
            document.waiting.retain(|request| request.id != id);
            waited |= document.waiting.len() < before;
        }
        if waited {
            self.respond(id, Err(error(ErrorCode::RequestCanceled, "cancelled")));
        } else if self.asked.contains(&id) {
            self.cancelled.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
        }
    }

    /// Begins the analyses that are due.
    fn start_due(&mut self) {
        let now = Instant::now();
        for document in self.documents.values_mut() {
            if document.busy || document.due.is_none_or(|due| due > now) {
                continue;
            }
            (document.busy, document.due) = (true, None);
            let (uri, language) = (document.uri.clone(), document.language);
            let (version, revision) = (document.version, document.revision);
            let (text, lines) = (document.text.clone(), document.lines.clone());
            let events = self.events.clone();
            std::thread::spawn(move || {
                let make = || Snapshot::new(uri.clone(), (version, revision), language, text, lines);
                let snapshot = catch_unwind(AssertUnwindSafe(make)).ok().map(Arc::new);
                // Nobody listens where the server has ended meanwhile.
                let _ = events.send(Event::Analysed(uri, snapshot));
            });
        }
    }

    fn analysed(&mut self, uri: &Uri, snapshot: Option<Arc<Snapshot>>) {
        let Some(document) = self.documents.get_mut(uri.as_str()) else { return };
        document.busy = false;
        let Some(snapshot) = snapshot else {
            let waiting = std::mem::take(&mut document.waiting);
            for request in waiting {
                self.respond(request.id, Err(mistake()));
            }
            return;
        };
        document.latest = Some(Arc::clone(&snapshot));
        if snapshot.revision != document.revision {
            // What was typed meanwhile is due by itself, and requests wait on.
            return;
        }
        document.due = None;
        let waiting = std::mem::take(&mut document.waiting);
        let diagnostics =
            snapshot.analysis.diagnostics().iter().map(|one| answers::diagnostic(&snapshot, one));
        let params =
            lsp::PublishDiagnosticsParams::new(uri.clone(), diagnostics.collect(), Some(snapshot.version));
        self.send(Notification::new("textDocument/publishDiagnostics".into(), params));
        for request in waiting {
            self.ask_about(Arc::clone(&snapshot), request);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_of_its_request() {
        let answer = guarded(|| panic!("on purpose"));
        assert_eq!(answer.expect_err("it panicked").code, ErrorCode::InternalError as i32);
    }
}
