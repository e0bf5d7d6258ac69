//! A provider that keeps what it was sent and answers with all of it, as an error, or as a value below `/good`: what a
//! careless server does with a secret. Below `/locked` nobody is let in.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::extract::{Request, State};
use axum::http::StatusCode;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

type Heard = Arc<Mutex<Vec<String>>>;

/// A server that answers on every path; it ends with this value.
pub struct Echo {
    /// Where it answers.
    pub address: SocketAddr,
    heard: Heard,
    task: JoinHandle<()>,
}

impl Echo {
    /// Starts one.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let heard = Heard::default();
        let app = axum::Router::new().fallback(echo).with_state(Arc::clone(&heard));
        let task = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { address, heard, task }
    }

    /// Every request so far: its address and its headers.
    pub fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn echo(State(heard): State<Heard>, request: Request) -> (StatusCode, String) {
    let text = format!("{} {:?}", request.uri(), request.headers());
    heard.lock().unwrap().push(text.clone());
    let status = match request.uri().path() {
        path if path.starts_with("/good") => StatusCode::OK,
        path if path.starts_with("/locked") => StatusCode::UNAUTHORIZED,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    (status, text)
}
