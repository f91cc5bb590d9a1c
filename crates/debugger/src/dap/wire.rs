//! Messages on a stream: a header with the length, then JSON. The types of requests, responses and events are those of a
//! crate; its reader trusts the length that a message claims, so that reading is done here.

use emmy_dap_types::base_message::{BaseMessage, Sendable};
use emmy_dap_types::events::{Event, ExitedEventBody, OutputEventBody};
use emmy_dap_types::requests::Request;
use emmy_dap_types::responses::{Response, ResponseBody};
use emmy_dap_types::types::OutputEventCategory;
use serde_json::{Value, json};
use std::io::{BufRead, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// The longest message that is read, and the longest header.
const LONGEST: u64 = 16 << 20;
const LONGEST_HEADER: u64 = 4096;

/// A message from the client.
pub(crate) enum Incoming {
    /// A request: as it came, and as one that is known.
    Request { seq: i64, command: String, arguments: Value, request: Option<Box<Request>>, raw: Value },
    /// Something that is no request, and why.
    Wrong(String),
}

/// The next message, if it is JSON; `None` at the end of the stream, or where no message can begin any more.
pub fn frame(input: &mut impl BufRead) -> Option<serde_json::Result<Value>> {
    let mut length = None;
    loop {
        let mut line = String::new();
        if input.take(LONGEST_HEADER).read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse::<u64>().ok().filter(|&length| length <= LONGEST);
        }
    }
    let mut text = Vec::new();
    let length = length?;
    if input.take(length).read_to_end(&mut text).ok()? as u64 != length {
        return None;
    }
    Some(serde_json::from_slice(&text))
}

/// Sends a message.
///
/// # Errors
/// If it cannot be written.
pub fn send(output: &mut impl Write, message: &str) -> std::io::Result<()> {
    write!(output, "Content-Length: {}\r\n\r\n{message}", message.len())?;
    output.flush()
}

/// The next message that should be a request.
pub(super) fn read(input: &mut impl BufRead) -> Option<Incoming> {
    let value = match frame(input)? {
        Ok(value) => value,
        Err(error) => return Some(Incoming::Wrong(error.to_string())),
    };
    let (Some(seq), Some(command)) = (value["seq"].as_i64(), value["command"].as_str().map(str::to_owned))
    else {
        return Some(Incoming::Wrong("a message without `seq` or `command`".to_owned()));
    };
    let arguments = value["arguments"].clone();
    let request = serde_json::from_value(value.clone()).ok().map(Box::new);
    Some(Incoming::Request { seq, command, arguments, request, raw: value })
}

/// The way to the client, shared with who prints.
#[derive(Clone)]
pub struct Outgoing(Arc<Mutex<Stream>>);

struct Stream {
    output: Box<dyn Write + Send>,
    seq: i64,
}

impl std::fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Outgoing")
    }
}

impl Outgoing {
    pub(super) fn new(output: impl Write + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(Stream { output: Box::new(output), seq: 0 })))
    }

    fn send(&self, message: impl FnOnce(i64) -> serde_json::Result<String>) -> std::io::Result<()> {
        let mut stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stream.seq += 1;
        let text = message(stream.seq)?;
        send(&mut stream.output, &text)
    }

    /// Passes on what somebody else says, by another number.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn relay(&self, mut message: Value) -> std::io::Result<()> {
        self.send(|seq| {
            message["seq"] = seq.into();
            serde_json::to_string(&message)
        })
    }

    /// What a program prints: to its standard output, or to its standard error.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn printed(&self, text: &[u8], error: bool) -> std::io::Result<()> {
        let category = if error { OutputEventCategory::Stderr } else { OutputEventCategory::Stdout };
        self.text(category, &String::from_utf8_lossy(text))
    }

    /// Text for the debug console.
    pub(super) fn text(&self, category: OutputEventCategory, text: &str) -> std::io::Result<()> {
        let output = text.to_owned();
        let body = OutputEventBody { category: Some(category), output, ..OutputEventBody::default() };
        self.event(Event::Output(body))
    }

    /// The program has ended, with this exit code.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn ended(&self, exit_code: i64) -> std::io::Result<()> {
        self.event(Event::Exited(ExitedEventBody { exit_code }))?;
        self.event(Event::Terminated(None))
    }

    /// The program cannot be debugged, as the request to launch it is told.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn refused(&self, launch: i64, why: &str) -> std::io::Result<()> {
        self.refuse(launch, "launch", why)
    }

    pub(super) fn event(&self, event: Event) -> std::io::Result<()> {
        self.send(|seq| serde_json::to_string(&BaseMessage { seq, message: Sendable::Event(event) }))
    }

    pub(super) fn respond(&self, request_seq: i64, body: ResponseBody) -> std::io::Result<()> {
        let response = Response { request_seq, success: true, message: None, body: Some(body), error: None };
        self.send(|seq| serde_json::to_string(&BaseMessage { seq, message: Sendable::Response(response) }))
    }

    pub(super) fn refuse(&self, request_seq: i64, command: &str, why: &str) -> std::io::Result<()> {
        self.send(|seq| {
            serde_json::to_string(&json!({
                "seq": seq, "type": "response", "request_seq": request_seq, "success": false,
                "command": command, "message": why,
                "body": { "error": { "id": 1, "format": why, "showUser": true } },
            }))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> Option<Incoming> {
        read(&mut text.as_bytes())
    }

    #[test]
    fn messages_are_read() {
        let text = r#"{"seq":3,"type":"request","command":"threads"}"#;
        let framed = format!("Content-Length: {}\r\n\r\n{text}", text.len());
        let Some(Incoming::Request { seq: 3, command, request, .. }) = message(&framed) else {
            panic!("a request")
        };
        assert!(command == "threads" && request.is_some());
    }

    #[test]
    fn damaged_messages_do_no_harm() {
        assert!(message("").is_none());
        assert!(message("Content-Length: 99999999999999\r\n\r\n{}").is_none());
        assert!(message("Content-Length: 10\r\n\r\n{}").is_none());
        assert!(message("nonsense\r\n\r\n").is_none());
        assert!(matches!(message("Content-Length: 2\r\n\r\n{}"), Some(Incoming::Wrong(_))));
        assert!(matches!(message("Content-Length: 2\r\n\r\n[["), Some(Incoming::Wrong(_))));
        let unknown = r#"{"seq":1,"command":"fly"}"#;
        let framed = format!("Content-Length: {}\r\n\r\n{unknown}", unknown.len());
        assert!(matches!(message(&framed), Some(Incoming::Request { request: None, .. })));
    }
}
