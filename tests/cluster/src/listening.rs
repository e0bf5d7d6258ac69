//! What a controller serves over HTTP: health and metrics.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use crate::controller::Launch;
use crate::world::World;

/// Where a controller listens.
pub struct Listening(SocketAddr);

impl World {
    /// Starts the controller anew, so that it serves health and metrics.
    pub fn serve_metrics(&mut self) -> Listening {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        self.kill_controller();
        let flags =
            ["--namespace", &self.namespace, "--listen", &address.to_string(), "--leader-elect=false"];
        self.controller = Some(Launch::unscoped(&self.namespace).flags(&flags).start());
        Listening(address)
    }
}

impl Listening {
    /// What is answered to one request, without a client of its own; nothing while nobody listens.
    pub fn get(&self, path: &str) -> String {
        let Ok(mut stream) = TcpStream::connect(self.0) else { return String::new() };
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.0).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }
}
