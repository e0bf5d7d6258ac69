//! A server that answers what it is told to, in order, and writes down every request to the letter.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// What is answered to one request.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: String,
    late: Duration,
    missing: usize,
}

impl Reply {
    pub(crate) fn new(status: u16, body: impl Into<String>) -> Self {
        Self { status, headers: Vec::new(), body: body.into(), late: Duration::ZERO, missing: 0 }
    }

    pub(crate) fn good(body: impl Into<String>) -> Self {
        Self::new(200, body)
    }

    pub(crate) fn leads_to(status: u16, location: impl Into<String>) -> Self {
        let mut reply = Self::new(status, "moved");
        reply.headers.push(("Location", location.into()));
        reply
    }

    /// It never comes to its end.
    pub(crate) fn unfinished(mut self) -> Self {
        self.missing = 1;
        self
    }

    pub(crate) fn late(mut self, by: Duration) -> Self {
        self.late = by;
        self
    }
}

#[derive(Default)]
struct Script {
    replies: Vec<Reply>,
    seen: Vec<String>,
    connections: usize,
}

/// The server. It ends with the test's runtime.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    script: Arc<Mutex<Script>>,
}

impl Server {
    /// One that answers these, and the last of them again and again.
    pub(crate) async fn answers(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::start(replies, None).await
    }

    /// The same, encrypted.
    pub(crate) async fn encrypted(replies: impl IntoIterator<Item = Reply>, acceptor: TlsAcceptor) -> Self {
        Self::start(replies, Some(acceptor)).await
    }

    async fn start(replies: impl IntoIterator<Item = Reply>, acceptor: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let script = Script { replies: replies.into_iter().collect(), ..Script::default() };
        let script = Arc::new(Mutex::new(script));
        let shared = script.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (script, acceptor) = (shared.clone(), acceptor.clone());
                script.lock().unwrap().connections += 1;
                tokio::spawn(async move {
                    match acceptor {
                        None => talk(stream, &script).await,
                        // A client that does not trust us hangs up.
                        Some(acceptor) => {
                            if let Ok(stream) = acceptor.accept(stream).await {
                                talk(stream, &script).await;
                            }
                        }
                    }
                });
            }
        });
        Self { address, script }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every request so far, with HOST for our own address.
    pub(crate) fn seen(&self) -> Vec<String> {
        let seen = self.script.lock().unwrap().seen.clone();
        seen.iter().map(|request| request.replace(&self.address.to_string(), "HOST")).collect()
    }

    pub(crate) fn connections(&self) -> usize {
        self.script.lock().unwrap().connections
    }
}

async fn talk(mut stream: impl AsyncRead + AsyncWrite + Unpin, script: &Mutex<Script>) {
    while let Some(request) = request(&mut stream).await {
        let reply = {
            let mut script = script.lock().unwrap();
            script.seen.push(request);
            if script.replies.len() > 1 { script.replies.remove(0) } else { script.replies[0].clone() }
        };
        tokio::time::sleep(reply.late).await;
        let length = reply.body.len() + reply.missing;
        let mut head = format!("HTTP/1.1 {} Said\r\nContent-Length: {length}\r\n", reply.status);
        for (name, value) in &reply.headers {
            write!(head, "{name}: {value}\r\n").unwrap();
        }
        head.push_str("\r\n");
        if stream.write_all((head + &reply.body).as_bytes()).await.is_err() {
            return;
        }
    }
}

/// The next request, headers in order of their names and all but the usual ones; none when the client is gone.
async fn request(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        bytes.push(stream.read_u8().await.ok()?);
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let (line, headers) = head.split_once("\r\n").unwrap_or((&head, ""));
    let mut headers: Vec<&str> = headers.split("\r\n").collect();
    headers.sort_unstable();
    let length = headers.iter().find_map(|header| header.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body).await.ok()?;
    let body = String::from_utf8(body).unwrap();
    let shown: Vec<&str> =
        headers.into_iter().filter(|header| !header.starts_with("user-agent: windlass/")).collect();
    let body = if body.is_empty() { String::new() } else { format!("\n\n{body}") };
    Some(format!("{line}\n{}{body}", shown.join("\n")))
}
