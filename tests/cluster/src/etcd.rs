//! Makes etcd forget its history, through its HTTP gateway.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::bed::Bed;

impl Bed {
    /// Compacts etcd to its newest revision: whoever wants to go on from an older one is told that it is gone.
    pub fn forget_history(&self) {
        let newest = self.ask_etcd("/v3/kv/range", &json!({"key": "AA==", "limit": "1"}));
        let revision = newest["header"]["revision"].as_str().unwrap().to_owned();
        self.ask_etcd("/v3/kv/compaction", &json!({"revision": revision, "physical": true}));
    }

    fn ask_etcd(&self, path: &str, body: &Value) -> Value {
        let server = self.etcd.as_deref().expect("a control plane of our own");
        let address = server.trim_start_matches("http://");
        let mut stream = TcpStream::connect(address).unwrap();
        let body = body.to_string();
        let length = body.len();
        write!(
            stream,
            "POST {path} HTTP/1.0\r\nHost: {address}\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(" 200 "), "{path}: {answer}");
        serde_json::from_str(body).unwrap()
    }
}
