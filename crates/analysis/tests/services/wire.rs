//! A service on a local socket: it takes down every request as it came and gives the answers of the test in turn.
//! Requests for any host are sent to it, so that a test sees the real names of hosts, and signatures stay the same.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use jiff::Timestamp;
use serde_json::{Value as Json, json};
use windlass_analysis::gauge::Measured;
use windlass_analysis::providers::{self, Answer, Method, Provider, Request, Setting, Settings, Step};

/// What a provider is given besides its settings.
#[derive(Default)]
pub(crate) struct Given {
    pub(crate) secret: BTreeMap<String, String>,
    pub(crate) environment: BTreeMap<String, String>,
}

impl Given {
    pub(crate) fn secret(pairs: &[(&str, &str)]) -> Self {
        Self { secret: texts(pairs), ..Self::default() }
    }

    pub(crate) fn environment(pairs: &[(&str, &str)]) -> Self {
        Self { environment: texts(pairs), ..Self::default() }
    }
}

fn texts(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// What came of it.
pub(crate) struct Play {
    pub(crate) measured: Result<Measured, String>,
    /// The requests, as they came over the wire.
    pub(crate) requests: Vec<String>,
}

impl Play {
    /// The only request.
    pub(crate) fn request(&self) -> &str {
        match self.requests.as_slice() {
            [only] => only,
            more => panic!("{} requests", more.len()),
        }
    }

    /// The value, as it is judged.
    pub(crate) fn value(&self) -> String {
        format!("{:?}", self.measured.as_ref().unwrap().value)
    }

    /// Why there is none.
    pub(crate) fn error(&self) -> &str {
        self.measured.as_ref().unwrap_err()
    }
}

/// A provider by its name, with its settings.
pub(crate) fn read(name: &str, settings: &Json) -> Box<dyn Provider> {
    match providers::read("provider", &json!({name: settings})) {
        Ok(Settings::Http(provider)) => provider,
        Ok(_) => panic!("{name} is not asked over HTTP"),
        Err(flaws) => panic!("{flaws:?}"),
    }
}

/// Measures once at 2020-09-02T19:53:55Z.
pub(crate) fn measure(name: &str, settings: &Json, given: &Given, script: &[(u16, &str)]) -> Play {
    let provider = read(name, settings);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap();
    let answers: Vec<(u16, String)> =
        script.iter().map(|(status, body)| (*status, (*body).to_owned())).collect();
    let server = thread::spawn(move || {
        for (status, body) in answers {
            serve(&listener, status, &body);
        }
    });
    let setting = Setting {
        namespace: "shop",
        now: Timestamp::from_second(1_599_076_435).unwrap(),
        secret: &given.secret,
        environment: &given.environment,
    };
    let mut answers = Vec::new();
    let mut requests = Vec::new();
    let measured = loop {
        match provider.step(&setting, &answers) {
            Ok(Step::Ask(request)) => {
                assert!(answers.len() < script.len(), "nobody answers {}", request.url);
                let (answer, seen) = send(place, &request);
                answers.push(answer);
                requests.push(seen);
            }
            Ok(Step::Done(measured)) => break Ok(measured),
            Err(error) => break Err(error),
        }
    };
    assert_eq!(answers.len(), script.len(), "not every answer was asked for: {measured:?}");
    server.join().unwrap();
    Play { measured, requests }
}

/// What is wrong with these settings, as it is told.
pub(crate) fn flaws(name: &str, settings: &Json) -> String {
    let flaws = providers::read("spec.metrics[0].provider", &json!({name: settings})).err().unwrap();
    flaws.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n") + "\n"
}

/// Sends a request to the local service, wherever it should go, and gives the answer and the request as it came.
fn send(place: SocketAddr, request: &Request) -> (Answer, String) {
    let (scheme, rest) = request.url.split_once("://").unwrap();
    let (host, path) = rest.find('/').map_or((rest, "/"), |slash| rest.split_at(slash));
    let method = match request.method {
        Method::Get => "GET",
        Method::Post => "POST",
        Method::Put => "PUT",
    };
    let body = request.body.clone().unwrap_or_default();
    let mut text = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n");
    for (name, value) in &request.headers {
        write!(text, "{name}: {value}\r\n").unwrap();
    }
    if request.body.is_some() {
        write!(text, "Content-Length: {}\r\n", body.len()).unwrap();
    }
    write!(text, "\r\n{body}").unwrap();
    let mut stream = TcpStream::connect(place).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    let mut answered = String::new();
    stream.read_to_string(&mut answered).unwrap();
    let (head, rest) = answered.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let (seen, body) = rest.split_once('\0').unwrap();
    let seen = format!("{scheme}, {:?}\n{seen}", request.timeout);
    (Answer { status, body: body.as_bytes().to_vec() }, seen)
}

/// Reads one request and answers it: first with the request as it was understood, then with the body of the script.
fn serve(listener: &TcpListener, status: u16, body: &str) {
    let (stream, _) = listener.accept().unwrap();
    let mut reader = BufReader::new(stream);
    let mut seen = String::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some(number) = line.strip_prefix("Content-Length: ") {
            length = number.parse().unwrap();
        } else {
            writeln!(seen, "{line}").unwrap();
        }
    }
    let mut sent = vec![0; length];
    reader.read_exact(&mut sent).unwrap();
    seen.push_str(&String::from_utf8(sent).unwrap());
    let text = format!("HTTP/1.1 {status} As it is\r\nConnection: close\r\n\r\n{seen}\0{body}");
    reader.into_inner().write_all(text.as_bytes()).unwrap();
}
