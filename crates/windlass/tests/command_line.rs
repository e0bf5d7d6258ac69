//! The command line as a script meets it: exit codes, and what stands on which stream. No cluster needed.

#![expect(clippy::unwrap_used, reason = "a test that cannot start its program has nothing to say")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

fn windlass(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_windlass"))
        .args(arguments)
        .env("KUBECONFIG", "/nonexistent/kubeconfig")
        .env_remove("KUBERNETES_SERVICE_HOST")
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_wrong_command_line_ends_with_2() {
    let wrong = [
        vec!["controller", "--instance", "windlass"],
        vec!["get"],
        vec!["get", "deployment/web"],
        vec!["get", "web", "-o", "table"],
        vec!["status", "web", "--timeout", "soon"],
        vec!["status", "web", "--timeout", "-5s"],
        vec!["doctor", "-o", "table"],
        vec!["plan"],
        vec!["plan", "-f", "web.yaml", "-o", "svg"],
        vec!["simulate"],
        vec!["simulate", "-f", "web.yaml", "-o", "markdown"],
        vec!["simulate", "-f", "web.yaml", "--fail", "web-4:crash"],
        vec!["simulate", "-f", "web.yaml", "--abort-at", "stage=0"],
        vec!["simulate", "-f", "web.yaml", "--approve-after", "soon"],
        vec!["simulate", "-f", "web.yaml", "--metric", "error-rate"],
        vec!["simulate", "-f", "web.yaml", "--metric", "error-rate=much"],
        vec!["simulate", "-f", "web.yaml", "--metric", "error-rate=1,2"],
        vec!["analyze"],
        vec!["analyze", "-f", "template.yaml", "-o", "yaml"],
        vec!["analyze", "-f", "template.yaml", "--arg", "service"],
        vec!["analyze", "-f", "template.yaml", "--secret", "token=a"],
    ];
    for arguments in wrong {
        assert_eq!(windlass(&arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn without_a_cluster_each_command_says_how_to_name_one() {
    for command in ["get", "status", "promote", "pause", "resume", "abort", "restart", "why", "plan"] {
        let output = windlass(&[command, "web"]);
        assert_eq!(output.status.code(), Some(1), "{command}");
        assert!(output.stdout.is_empty(), "{command}");
        let said = said(&output);
        assert!(
            said.starts_with("error: cannot reach a cluster") && said.contains("KUBECONFIG"),
            "{command}: {said}"
        );
    }
}

#[test]
fn the_doctor_without_a_cluster_says_how_to_name_one() {
    let output = windlass(&["doctor"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).starts_with("error: cannot reach a cluster"), "{}", said(&output));
}

#[test]
fn an_unreachable_cluster_is_named() {
    let folder = std::env::temp_dir().join(format!("windlass-command-line-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("kubeconfig");
    let config = "apiVersion: v1\nkind: Config\ncurrent-context: a\n\
        clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}]\n\
        users: [{name: a, user: {}}]\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n";
    std::fs::write(&file, config).unwrap();
    let output = windlass(&["get", "web", "--kubeconfig", file.to_str().unwrap()]);
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).starts_with("error: cannot reach a cluster"), "{}", said(&output));
}

/// A manifest of the tests, by its path.
fn manifest(name: &str) -> String {
    format!("{}/tests/manifests/{name}.yaml", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_plan_needs_no_cluster_and_its_exit_code_says_whether_it_can_be_carried_out() {
    let rows = [
        ("ordinals", 0, "Plan of RolloutPlugin store", ""),
        ("hopeless", 0, "the progress deadline (1m) can never be met", ""),
        ("flaws", 1, "SetWeight needs to be between 0 and 100", ""),
        ("on-delete", 1, "OnDelete", ""),
        ("missing-workload", 1, "StatefulSet web in namespace shop is not in the files", ""),
        ("bad", 1, "", "bad.yaml:5:2: cannot be read"),
        ("unknown-fields", 1, "", "unknown field replica in spec; did you mean replicas?"),
        ("no-rollout", 1, "", "there is no RolloutPlugin in the files"),
        ("not-there", 1, "", "cannot read"),
    ];
    for (name, code, out, err) in rows {
        let output = windlass(&["plan", "-f", &manifest(name)]);
        let unwrapped =
            String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(output.status.code(), Some(code), "{name}");
        assert!(unwrapped.contains(out) && unwrapped.is_empty() == out.is_empty(), "{name}: {unwrapped}");
        let said = said(&output);
        assert!(said.contains(err) && said.is_empty() == err.is_empty(), "{name}: {said}");
    }
}

#[test]
fn a_plan_reads_several_files_folders_and_standard_input() {
    let folder = std::env::temp_dir().join(format!("windlass-plan-{}", std::process::id()));
    let inner = folder.join("inner");
    std::fs::create_dir_all(&inner).unwrap();
    std::fs::copy(manifest("single"), folder.join("web.yml")).unwrap();
    std::fs::copy(manifest("ordinals"), inner.join("store.yaml")).unwrap();
    std::fs::write(folder.join("notes.txt"), "no manifest").unwrap();
    let plans = |arguments: &[&str]| {
        let output = windlass(&[&["plan", "-o", "markdown"], arguments].concat());
        String::from_utf8_lossy(&output.stdout).matches("### Plan of").count()
    };
    let path = folder.to_str().unwrap();
    assert_eq!(plans(&["-f", path]), 1);
    assert_eq!(plans(&["-f", path, "--recursive"]), 2);
    assert_eq!(plans(&["-f", path, "-f", &manifest("ordinals")]), 2);
    assert_eq!(plans(&["-f", path, "-R", "store"]), 1);
    std::fs::remove_dir_all(&folder).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_windlass"))
        .args(["plan", "-f", "-"])
        .stdin(std::fs::File::open(manifest("single")).unwrap())
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("(standard input:19)"));
}

/// A server that answers each path with a body and every other one with 404, and hands over the requests' bodies.
fn server(answers: &'static [(&str, &str)]) -> (SocketAddr, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (seen, requests) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let (mut first, mut line, mut length) = (String::new(), String::new(), 0);
            stream.read_line(&mut first).unwrap();
            while stream.read_line(&mut line).unwrap() > 2 {
                let header = line.to_lowercase();
                length =
                    header.strip_prefix("content-length:").map_or(length, |it| it.trim().parse().unwrap());
                line.clear();
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).unwrap();
            // Nobody may listen any more.
            let _ = seen.send(String::from_utf8(body).unwrap());
            let path = first.split(' ').nth(1).unwrap_or_default();
            let answer = answers.iter().find(|(known, _)| *known == path).map(|(_, body)| *body);
            let (status, body) = answer.map_or((404, ""), |body| (200, body));
            let size = body.len();
            let head =
                format!("HTTP/1.1 {status} Said\r\nContent-Length: {size}\r\nConnection: close\r\n\r\n");
            stream.get_mut().write_all((head + body).as_bytes()).unwrap();
        }
    });
    (address, requests)
}

/// A file of this test, by what it is about.
fn written(name: &str, text: &str) -> PathBuf {
    let file = std::env::temp_dir().join(format!("windlass-{name}-{}", std::process::id()));
    std::fs::write(&file, text).unwrap();
    file
}

#[test]
fn the_exit_code_of_an_analysis_says_what_its_values_are() {
    let (address, _requests) = server(&[("/good", "1"), ("/neither", "7"), ("/bad", "12")]);
    let metric = |name: &str| {
        format!(
            "  - name: {name}\n    successCondition: result < 5\n    failureCondition: result > 10\n    \
             provider: {{web: {{url: http://{address}/{name}}}}}\n"
        )
    };
    let metrics: String = ["good", "neither", "bad", "none", "dry"].map(metric).concat();
    let template = written(
        "analyze.yaml",
        &format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: AnalysisTemplate\nmetadata: {{name: t}}\nspec:\n  \
             dryRun: [{{metricName: dry}}]\n  metrics:\n  - {{name: a-job, provider: {{job: {{spec: {{template: {{spec: {{containers: [{{name: a, image: a}}]}}}}}}}}}}}}\n{metrics}"
        ),
    );
    let path = template.to_str().unwrap();
    let rows: [(&[&str], i32, &str); 9] = [
        (&["--metric", "good"], 0, "Successful\n"),
        (&["--metric", "good", "--metric", "dry"], 0, "Successful\n"),
        (&["--metric", "good", "--metric", "neither"], 2, "Inconclusive\n"),
        (&["--metric", "none", "--metric", "neither"], 1, "Error\n"),
        (&["--metric", "bad"], 1, "Failed\n"),
        (&["--metric", "a-job"], 1, "Error\n"),
        (&[], 1, "Failed\n"),
        (&["--metric", "goood"], 2, ""),
        (&["--arg", "service=db"], 2, ""),
    ];
    for (flags, code, last) in rows {
        let output = windlass(&[&["analyze", "-f", path], flags].concat());
        let (printed, said) = (String::from_utf8_lossy(&output.stdout).into_owned(), said(&output));
        assert_eq!(output.status.code(), Some(code), "{flags:?}: {printed}{said}");
        assert!(printed.ends_with(last) && printed.is_empty() == last.is_empty(), "{flags:?}: {printed}");
        assert_eq!(said.is_empty(), !last.is_empty(), "{flags:?}: {said}");
    }
    std::fs::remove_file(&template).unwrap();
    assert_eq!(windlass(&["analyze", "-f", path]).status.code(), Some(1), "there is no such file");
}

#[test]
fn an_analysis_has_the_environment_that_the_controller_would_have() {
    let (address, requests) = server(&[]);
    let token = written("token", "t0ken\n");
    let template = written(
        "aws.yaml",
        "apiVersion: argoproj.io/v1alpha1\nkind: AnalysisTemplate\nmetadata: {name: t}\nspec:\n  metrics:\n  - name: m\n    \
         provider:\n      cloudWatch:\n        metricDataQueries:\n        - {id: errors, expression: SUM(METRICS())}\n",
    );
    let output = Command::new(env!("CARGO_BIN_EXE_windlass"))
        .args(["analyze", "-f", template.to_str().unwrap()])
        .env_remove("AWS_ACCESS_KEY_ID")
        .env("AWS_REGION", "eu-central-1")
        .env("AWS_ROLE_ARN", "arn:aws:iam::1:role/windlass")
        .env("AWS_WEB_IDENTITY_TOKEN_FILE", &token)
        .env("AWS_ENDPOINT_URL", format!("http://{address}"))
        .output()
        .unwrap();
    for file in [token, template] {
        std::fs::remove_file(file).unwrap();
    }
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let printed = String::from_utf8_lossy(&output.stdout);
    let asked = requests.try_recv().unwrap_or_else(|_| panic!("nobody asked: {printed}"));
    assert!(
        asked.contains("Action=AssumeRoleWithWebIdentity") && asked.contains("WebIdentityToken=t0ken"),
        "{asked}"
    );
    assert!(printed.contains("AWS STS"), "{printed}");
}

#[test]
fn the_demo_tells_its_story_without_a_cluster_and_without_waiting() {
    let output = windlass(&["demo", "--instant"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(said(&output), "");
    let told = String::from_utf8(output.stdout).unwrap().replace(env!("CARGO_BIN_EXE_windlass"), "windlass");
    insta::assert_snapshot!(told);
}

#[test]
fn a_demo_that_does_not_wait_has_nothing_to_stay_for() {
    for other in ["--stay", "--real"] {
        assert_eq!(windlass(&["demo", "--instant", other]).status.code(), Some(2), "{other}");
    }
}

#[test]
fn a_demo_on_a_control_plane_that_is_not_there_says_what_would_help() {
    let output = Command::new(env!("CARGO_BIN_EXE_windlass"))
        .args(["demo", "--real"])
        .env("WINDLASS_TESTBED", "/nonexistent")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = said(&output);
    assert!(said.contains("WINDLASS_TESTBED=/nonexistent") && said.contains("make demo-real"), "{said}");
}

#[test]
fn the_exit_code_of_a_simulation_says_whether_it_ended_well() {
    let rows: [(&str, &[&str], i32, &str, &str); 9] = [
        ("ordinals", &[], 0, "✔ every pod is on the new version", ""),
        ("ordinals", &["--max-unavailable", "1", "--max-duration", "3h"], 0, "✔ at most 1 unavailable", ""),
        ("ordinals", &["--max-duration", "1h"], 1, "✖ over within 1h", ""),
        ("ordinals", &["--abort-at", "stage=3"], 0, "✔ aborted at step 3, and every pod is back", ""),
        ("ordinals", &["--image", "app:v2-never"], 1, "✖ the run was aborted", ""),
        ("ordinals", &["--abort-at", "stage=7"], 2, "", "there is no step 7; the rollout has 4"),
        ("bad", &[], 1, "", "bad.yaml:5:2: cannot be read"),
        ("unknown-fields", &[], 1, "", "unknown field replica in spec; did you mean replicas?"),
        ("missing-workload", &[], 1, "", "StatefulSet web in namespace shop is not in the files"),
    ];
    for (name, flags, code, out, err) in rows {
        let output = windlass(&[&["simulate", "-f", &manifest(name)], flags].concat());
        let (printed, said) = (String::from_utf8_lossy(&output.stdout).into_owned(), said(&output));
        assert_eq!(output.status.code(), Some(code), "{name} {flags:?}: {printed}{said}");
        assert!(printed.contains(out) && printed.is_empty() == out.is_empty(), "{name} {flags:?}: {printed}");
        assert!(said.contains(err) && said.is_empty() == err.is_empty(), "{name} {flags:?}: {said}");
        assert!(!printed.contains('\u{1b}'), "no colours in a pipe");
    }
}

/// Tries a template with one metric on a machine that has no certificates of authorities.
fn analyzed_without_authorities(url: &str) -> String {
    let template = format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: AnalysisTemplate\nmetadata: {{name: health}}\nspec:\n  metrics:\n  \
         - name: lag\n    successCondition: result < 9\n    provider: {{web: {{url: \"{url}\"}}}}\n"
    );
    let file = std::env::temp_dir().join(format!("windlass-without-authorities-{}.yaml", std::process::id()));
    std::fs::write(&file, template).unwrap();
    let nowhere = "/nonexistent/authorities";
    let output = Command::new(env!("CARGO_BIN_EXE_windlass"))
        .args(["analyze", "-f", file.to_str().unwrap()])
        .env("SSL_CERT_FILE", nowhere)
        .env("SSL_CERT_DIR", nowhere)
        .output()
        .unwrap();
    std::fs::remove_file(file).unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &said(&output)
}

/// The image has but one program in it: what needs no certificates must not want any.
#[test]
fn without_certificates_of_authorities_http_works_and_https_says_why_not() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 1024]).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\n7").unwrap();
    });
    let told = analyzed_without_authorities(&format!("http://{address}/"));
    assert!(told.contains("Successful"), "{told}");
    server.join().unwrap();
    let told = analyzed_without_authorities("https://127.0.0.1:1/");
    assert!(told.contains("there are no certificates of authorities here"), "{told}");
}
