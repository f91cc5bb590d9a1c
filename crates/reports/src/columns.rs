//! Texts side by side in a page: what a compiler made of what. Rows that belong together have a group in common; the one under the pointer
//! shows its own in all columns, and a click brings them into sight.

use crate::findings::escaped;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A text, line by line.
#[derive(Clone, Debug, Default)]
pub struct Column {
    /// What it is.
    pub heading: String,
    /// The headings of what stands in front of each line.
    pub before: Vec<&'static str>,
    /// Its lines.
    pub rows: Vec<Row>,
}

/// A line.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// What stands in front of it, below the column's headings; nothing, or one for each.
    pub before: Vec<String>,
    /// The line itself.
    pub text: String,
    /// The groups that it belongs to.
    pub groups: Vec<String>,
    /// How much of the whole it is, from 0 to 1: the stronger its colour.
    pub heat: f64,
    /// It stands out: a register that is moved to memory.
    pub marked: bool,
}

const STYLE: &str = "\
:root{color-scheme:light dark;--text:#222;--page:#fff;--edge:#ccc;--dim:#666;--mark:#b03a2e;--same:#dbe9ff;--heat:222,121,44}
@media(prefers-color-scheme:dark){:root{--text:#ddd;--page:#1b1b1b;--edge:#444;--dim:#999;--mark:#ff8a7a;--same:#263f66}}
body{font:15px/1.5 system-ui,sans-serif;margin:2em;color:var(--text);background:var(--page)}h1{font-size:1.4em}h2{font-size:1.1em}
table{border-collapse:collapse;font-size:13px}td,th{padding:0 .8em 0 0;text-align:right;white-space:nowrap}
.columns{display:flex;gap:1em;height:85vh}.column{flex:1 1 auto;min-width:12em;overflow:auto;border:1px solid var(--edge)}
.column th{position:sticky;top:0;background:var(--page)}.column td:last-child,.column th:last-child{text-align:left;width:100%}
.column td:not(:last-child){color:var(--dim)}.column td:first-child{padding-left:.4em}
code{font:12.5px/1.4 ui-monospace,monospace;white-space:pre;tab-size:4}.marked code{color:var(--mark);font-weight:bold}
tr[data-g]{cursor:pointer}tr[data-g] td:first-child{border-left:5px solid hsl(var(--hue) 60% 55%)}tr.same td{background:var(--same)}";

/// Without it the page shows the same, and colours at the edges alone say what belongs together.
const SCRIPT: &str = "\
(function(){var rows=[].slice.call(document.querySelectorAll('tr[data-g]')),of={};
rows.forEach(function(row){row.dataset.g.split(' ').forEach(function(g){(of[g]=of[g]||[]).push(row)})});
function same(row){var all=[];row.dataset.g.split(' ').forEach(function(g){all=all.concat(of[g])});return all}
rows.forEach(function(row){row.onmouseenter=function(){same(row).forEach(function(it){it.classList.add('same')})};
row.onmouseleave=function(){same(row).forEach(function(it){it.classList.remove('same')})};
row.onclick=function(){var seen=[row.closest('.column')];same(row).forEach(function(it){var column=it.closest('.column');
if(seen.indexOf(column)<0){seen.push(column);column.scrollTop=it.offsetTop-column.clientHeight/3}})}})})();";

/// A page: a title, HTML in front of the columns, and the columns.
pub fn page(title: &str, before: &str, columns: &[Column]) -> String {
    let title = escaped(title);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\n\
         <meta name=\"viewport\" content=\"width=device-width\"><style>\n{STYLE}\n</style></head><body>\n\
         <h1>{title}</h1>\n{before}<div class=\"columns\">\n"
    );
    // Groups that follow one another have colours that do not.
    let mut hues: BTreeMap<&str, usize> = BTreeMap::new();
    for row in columns.iter().flat_map(|column| &column.rows) {
        for group in &row.groups {
            let next = hues.len() * 67 % 360;
            hues.entry(group).or_insert(next);
        }
    }
    columns
        .iter()
        .filter(|column| !column.rows.is_empty())
        .for_each(|column| self::column(&mut page, column, &hues));
    page + "</div>\n<script>\n" + SCRIPT + "\n</script></body></html>\n"
}

fn column(page: &mut String, column: &Column, hues: &BTreeMap<&str, usize>) {
    // Writing to a string cannot fail.
    *page += "<div class=\"column\"><table><tr>";
    for heading in column.before.iter().copied().chain([column.heading.as_str()]) {
        let _ = write!(page, "<th>{}</th>", escaped(heading));
    }
    *page += "</tr>\n";
    for row in &column.rows {
        *page += "<tr";
        if row.marked {
            *page += " class=\"marked\"";
        }
        if let Some(hue) = row.groups.first().and_then(|group| hues.get(group.as_str())) {
            let _ = write!(page, " data-g=\"{}\" style=\"--hue:{hue}", escaped(&row.groups.join(" ")));
            if row.heat > 0.0 {
                let _ = write!(page, ";background:rgba(var(--heat),{:.2})", row.heat.sqrt().min(0.9));
            }
            *page += "\"";
        } else if row.heat > 0.0 {
            let _ = write!(page, " style=\"background:rgba(var(--heat),{:.2})\"", row.heat.sqrt().min(0.9));
        }
        *page += ">";
        for index in 0..column.before.len() {
            let _ = write!(page, "<td>{}</td>", escaped(row.before.get(index).map_or("", String::as_str)));
        }
        let _ = writeln!(page, "<td><code>{}</code></td></tr>", escaped(&row.text));
    }
    *page += "</table></div>\n";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_belong_together_have_one_colour_and_one_group() {
        let row = |text: &str, group: &str| Row {
            text: text.to_owned(),
            groups: vec![group.to_owned()],
            before: vec!["<7>".to_owned()],
            ..Row::default()
        };
        let plain = Row { text: "plain".to_owned(), ..Row::default() };
        let columns = [
            Column {
                heading: "A".to_owned(),
                before: vec!["n"],
                rows: vec![row("a < b", "p1"), row("c", "p2"), plain],
            },
            Column { heading: "B".to_owned(), before: vec![], rows: vec![row("d", "p2")] },
            Column { heading: "nothing".to_owned(), ..Column::default() },
        ];
        let page = page("a & b", "<p>x</p>", &columns);
        assert!(page.contains("<h1>a &amp; b</h1>\n<p>x</p>"), "{page}");
        assert!(
            page.contains("<tr data-g=\"p1\" style=\"--hue:0\"><td>&lt;7&gt;</td><td><code>a &lt; b</code>")
        );
        assert_eq!(page.matches("<tr data-g=\"p2\" style=\"--hue:67\">").count(), 2);
        assert!(page.contains("<tr><td></td><td><code>plain</code></td></tr>"));
        assert!(!page.contains("<th>nothing</th>"));
    }
}
