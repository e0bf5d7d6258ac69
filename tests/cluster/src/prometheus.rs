//! A real Prometheus for tests: it asks its targets every second, can be taken away and brought back in the same place,
//! and ends with the test.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use axum::http::Request;
use kube::{Client, Config};
use serde_json::Value;

use crate::bed::root;
use crate::wait::until;

/// A Prometheus of one test.
pub struct Prometheus {
    address: SocketAddr,
    folder: PathBuf,
    client: Client,
    /// None during an outage.
    process: Option<Child>,
}

/// The program: the one that is installed, or the one of the system's package.
fn program() -> &'static PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let script = root().join("testbed/prometheus");
        let found = Command::new(&script).stderr(Stdio::inherit()).output().expect("testbed/prometheus");
        assert!(found.status.success(), "testbed/prometheus found none");
        PathBuf::from(String::from_utf8_lossy(&found.stdout).trim())
    })
}

impl Prometheus {
    /// Starts one that scrapes these targets every second, and waits until it answers.
    pub async fn start(targets: &[SocketAddr]) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder =
            std::env::temp_dir().join(format!("windlass-prometheus-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("prometheus.yaml"), configuration(targets)).unwrap();
        let address = free_address();
        let mut prometheus = Self { address, folder, client: client(address), process: None };
        prometheus.start_again().await;
        prometheus
    }

    /// Where it answers, such as `http://127.0.0.1:9090`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// An outage: the process is killed, and nobody answers at its address.
    pub fn stop(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    /// The end of an outage: it is back at the same address, with what it had stored, and answers.
    pub async fn start_again(&mut self) {
        assert!(self.process.is_none(), "it runs already");
        let log = std::fs::File::create(self.folder.join("log")).unwrap();
        let process = Command::new(program())
            .arg(format!("--config.file={}", self.folder.join("prometheus.yaml").display()))
            .arg(format!("--storage.tsdb.path={}", self.folder.join("data").display()))
            .arg(format!("--web.listen-address={}", self.address))
            .arg("--log.level=warn")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", program().display()));
        self.process = Some(process);
        until("Prometheus is ready", async || {
            let ended = self.process.as_mut().unwrap().try_wait().unwrap();
            assert!(ended.is_none(), "Prometheus ended: {}", self.log());
            self.get("/-/ready").await.map(drop)
        })
        .await;
    }

    /// What a query gives now, one value per series; none while nobody answers.
    pub async fn ask(&self, query: &str) -> Option<Vec<f64>> {
        let answer = self.get(&format!("/api/v1/query?query={}", escaped(query))).await?;
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["data"]["resultType"], "vector", "{query}: {answer}");
        let series = answer["data"]["result"].as_array().unwrap();
        Some(series.iter().map(|series| series["value"][1].as_str().unwrap().parse().unwrap()).collect())
    }

    async fn get(&self, path: &str) -> Option<String> {
        self.client.request_text(Request::get(path).body(Vec::new()).unwrap()).await.ok()
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        self.stop();
        std::fs::remove_dir_all(&self.folder).ok();
    }
}

fn client(address: SocketAddr) -> Client {
    Client::try_from(Config::new(format!("http://{address}").parse().unwrap())).unwrap()
}

fn configuration(targets: &[SocketAddr]) -> String {
    let targets: Vec<String> = targets.iter().map(|target| format!("'{target}'")).collect();
    format!(
        "global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
- job_name: targets
  static_configs: [{{targets: [{}]}}]
",
        targets.join(", ")
    )
}

/// A port that was free a moment ago: it has to be known before the start, to be the same after an outage.
fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// A query as a part of an address.
fn escaped(query: &str) -> String {
    query.bytes().fold(String::new(), |text, byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => text + char::from(byte).encode_utf8(&mut [0; 4]),
        other => format!("{text}%{other:02X}"),
    })
}
