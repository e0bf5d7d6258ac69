//! `windlass demo --stay`: after the show the cluster is a person's, with the kubectl they have.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use windlass_bed::bed;

/// A demo that stays; it ends with this value.
struct Demo(Child);

impl Drop for Demo {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

fn run(program: &Path, kubeconfig: &str, arguments: &[&str]) -> Output {
    Command::new(program).env("KUBECONFIG", kubeconfig).args(arguments).output().unwrap()
}

fn answer(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn after_the_show_a_person_pushes_the_buttons() {
    let windlass = bed().windlass_program();
    let kubectl = bed().bin().map_or_else(|| PathBuf::from("kubectl"), |bin| bin.join("kubectl"));
    let child = Command::new(&windlass).args(["demo", "--stay"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut demo = Demo(child);
    let mut lines = BufReader::new(demo.0.stdout.take().unwrap()).lines().map(Result::unwrap);
    let told = lines.find_map(|line| line.trim().strip_prefix("export KUBECONFIG=").map(str::to_owned));
    let kubeconfig = told.unwrap();

    let found = answer(&run(&kubectl, &kubeconfig, &["get", "rp,sts,pods"]));
    assert!(found.contains("rolloutplugin.argoproj.io/db") && found.contains("pod/db-4"), "{found}");
    answer(&run(&kubectl, &kubeconfig, &["set", "image", "sts/db", "db=app:v4"]));
    let asked = run(&windlass, &kubeconfig, &["status", "db", "--timeout", "30s"]);
    assert_eq!(asked.status.code(), Some(5), "{asked:?}");
    answer(&run(&windlass, &kubeconfig, &["promote", "db"]));
    answer(&run(&windlass, &kubeconfig, &["status", "db", "--timeout", "30s"]));
    let image = ["get", "pods", "-o", "jsonpath={.items[*].spec.containers[0].image}"];
    assert_eq!(answer(&run(&kubectl, &kubeconfig, &image)), ["app:v4"; 5].join(" "));

    answer(&Command::new("kill").args(["-INT", &demo.0.id().to_string()]).output().unwrap());
    assert!(demo.0.wait().unwrap().success());
    assert!(!Path::new(&kubeconfig).exists(), "{kubeconfig} was left behind");
}
