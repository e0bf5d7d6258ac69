//! The command line as a script meets it: exit codes, and what stands on which stream. No cluster needed.

#![expect(clippy::unwrap_used, reason = "a test that cannot start its program has nothing to say")]

use std::process::{Command, Output};

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
        vec!["get"],
        vec!["get", "deployment/web"],
        vec!["get", "web", "-o", "table"],
        vec!["status", "web", "--timeout", "soon"],
        vec!["status", "web", "--timeout", "-5s"],
        vec!["doctor", "-o", "table"],
    ];
    for arguments in wrong {
        assert_eq!(windlass(&arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn without_a_cluster_each_command_says_how_to_name_one() {
    for command in ["get", "status", "promote", "pause", "resume", "abort", "restart", "why"] {
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
