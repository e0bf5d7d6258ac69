//! The documents: every command in them runs, and every file, heading, target and test they name exists.
//!
//! A fenced block is tagged `sh`, `text` or `yaml`. `text` and `yaml` show something; where that is checked, tests of the crates do it. `sh` runs: the blocks of a file make one script, run
//! in order in a namespace of its own. `sh no-run=REASON` does not, for one of the reasons below.
#![expect(clippy::panic, reason = "a file that cannot be read is a failed test")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use windlass_bed::{Bed, User, bed, test};

/// Why a block is not run.
const REASONS: [(&str, &str); 6] = [
    ("make", "that would be a test in a test; that the target exists is checked instead"),
    ("cargo", "that would be a test in a test"),
    ("cluster-wide", "it would change the cluster under the other tests"),
    ("image", "it needs a container engine"),
    ("stays", "it runs until somebody interrupts it"),
    ("personal", "it changes the shell or the home of whoever runs it"),
];

/// How long the commands of one file may take. Generous: the machine may be busy.
const LIMIT: &str = "300";

/// One test per document, so that a failure names the file, and the list of them.
macro_rules! documents {
    ($($test:ident: $file:literal,)*) => {
        const DOCUMENTS: &[&str] = &[$($file),*];
        $(#[tokio::test]
        async fn $test() {
            run($file).await;
        })*
    };
}

documents! {
    every_command_of_the_readme_runs: "README.md",
    every_command_of_analyze_runs: "docs/analyze.md",
    every_command_of_analysis_runs: "docs/analysis.md",
    every_command_of_canary_runs: "docs/canary.md",
    every_command_of_getting_started_runs: "docs/getting-started.md",
    every_command_of_gitops_runs: "docs/gitops.md",
    every_command_of_install_runs: "docs/install.md",
    every_command_of_metrics_runs: "docs/metrics.md",
    every_command_of_operate_runs: "docs/operate.md",
    every_command_of_plan_runs: "docs/plan.md",
    every_command_of_security_runs: "docs/security.md",
    every_command_of_simulate_runs: "docs/simulate.md",
    every_command_of_statefulsets_runs: "docs/statefulsets.md",
    every_command_of_troubleshoot_runs: "docs/troubleshoot.md",
    every_command_of_uninstall_runs: "docs/uninstall.md",
}

/// Documents in which nothing is to be run. What others of their examples say is held elsewhere: those of providers.md in
/// `crates/windlass/src/plan/documents.rs`, those of expressions.md in `crates/analysis/tests/expressions.rs`.
const WITHOUT_COMMANDS: [&str; 6] = [
    "docs/coming-from-argo.md",
    "docs/dependencies.md",
    "docs/expressions.md",
    "docs/providers.md",
    "docs/simulator.md",
    "docs/testing.md",
];

/// One fenced block.
struct Block {
    line: usize,
    tag: String,
    text: String,
}

impl Block {
    /// Its lines, after one that says where they stand.
    fn script(&self) -> String {
        format!("echo '── line {}' >&2\n{}", self.line, self.text)
    }

    fn runs(&self) -> bool {
        self.tag == "sh"
    }

    fn skipped_because(&self) -> Option<&str> {
        self.tag.strip_prefix("sh no-run=")
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

fn read(file: &str) -> String {
    std::fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn blocks(file: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (index, line) in read(file).lines().enumerate() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(tag), None) => {
                open = Some(Block { line: index + 1, tag: tag.to_owned(), text: String::new() });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some(block)) => block.text.extend([line, "\n"]),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "{file}: a block is not closed");
    blocks
}

/// The lines outside of blocks.
fn prose(file: &str) -> String {
    let mut inside = false;
    let outside = |line: &&str| {
        let fence = line.starts_with("```");
        inside ^= fence;
        !inside && !fence
    };
    let text = read(file);
    text.lines().filter(outside).flat_map(|line| [line, "\n"]).collect()
}

/// Every document, ARCHITECTURE.md and CONTRIBUTING.md included.
fn all_documents() -> Vec<&'static str> {
    let others = ["ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];
    DOCUMENTS.iter().copied().chain(WITHOUT_COMMANDS).chain(others).collect()
}

async fn run(file: &str) {
    let blocks: Vec<Block> = blocks(file).into_iter().filter(Block::runs).collect();
    assert!(!blocks.is_empty(), "{file} has no command, so it belongs to those without");
    let name = file.to_lowercase().replace(['/', '.'], "-");
    test(&name, async |world| {
        // A document that starts a controller is the one that serves its namespace.
        if blocks.iter().any(|block| block.text.contains("windlass controller")) {
            world.kill_controller();
        }
        let folder = folder(bed(), User::Developer, &world.namespace);
        follow(file, &blocks.iter().map(Block::script).collect::<String>(), &folder);
    })
    .await;
}

/// What the pods of the Deployment would do; kwok only plays them.
const IN_PLACE_OF_THE_PODS: &str = r#"
token=$(kubectl create token windlass --namespace windlass --duration 1h)
kubectl config view --raw --minify > pod.kubeconfig
kubectl --kubeconfig pod.kubeconfig config set-credentials windlass --token "$token"
kubectl --kubeconfig pod.kubeconfig config set-context --current --user windlass
windlass controller --kubeconfig pod.kubeconfig --listen none 2> pod.log &
"#;

#[test]
fn the_tutorial_goes_from_an_empty_control_plane_to_an_aborted_canary() {
    let file = "docs/getting-started.md";
    let empty = Bed::empty();
    let folder = folder(&empty, User::Admin, "default");
    let mut script = String::new();
    for block in blocks(file).iter().filter(|block| block.runs()) {
        script += &block.script();
        if block.text.contains("rollout status deployment/windlass") {
            script += IN_PLACE_OF_THE_PODS;
        }
    }
    assert!(script.contains(IN_PLACE_OF_THE_PODS));
    follow(file, &script, &folder);
}

/// Runs a script as whoever follows a document would.
fn follow(file: &str, script: &str, folder: &Path) {
    let script = format!("trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n{script}");
    std::fs::write(folder.join("script"), script).unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("timeout")
        .args([LIMIT, "bash", "-euo", "pipefail", "script"])
        .current_dir(folder)
        .env("HOME", folder)
        .env("KUBECONFIG", folder.join("kubeconfig"))
        .env("PATH", format!("{}:{path}", folder.join("bin").display()))
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    std::fs::remove_dir_all(folder).unwrap();
    println!("{out}");
    assert!(output.status.success(), "{file}: {}\n{out}\n{err}", output.status);
}

/// A home for whoever follows the document: the commands on the PATH, the manifests of the checkout at hand, and the
/// world's namespace as the context's own.
fn folder(bed: &Bed, user: User, namespace: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("windlass-docs-{}-{namespace}", std::process::id()));
    let bin = folder.join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let windlass = bed.windlass_program().canonicalize().unwrap();
    for name in ["windlass", "kubectl-windlass"] {
        std::os::unix::fs::symlink(&windlass, bin.join(name)).unwrap();
    }
    if let Some(programs) = bed.bin() {
        std::os::unix::fs::symlink(programs.join("kubectl"), bin.join("kubectl")).unwrap();
    }
    std::os::unix::fs::symlink(bed.root().join("manifests"), folder.join("manifests")).unwrap();
    let kubeconfig = folder.join("kubeconfig");
    std::fs::copy(bed.kubeconfig(user), &kubeconfig).unwrap();
    let mine = ["config", "set-context", "--current", "--namespace", namespace];
    let mut command = Command::new(bed.bin().map_or("kubectl".into(), |programs| programs.join("kubectl")));
    assert!(command.arg("--kubeconfig").arg(&kubeconfig).args(mine).output().unwrap().status.success());
    folder
}

#[test]
fn every_document_is_among_those_that_are_run() {
    let files = std::fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().file_name());
    for file in files
        .map(|name| name.into_string().unwrap())
        .filter(|name| std::path::Path::new(name).extension().is_some_and(|end| end == "md"))
    {
        assert!(all_documents().contains(&format!("docs/{file}").as_str()), "docs/{file} has no test");
    }
}

#[test]
fn no_command_hides_where_none_is_run() {
    for file in WITHOUT_COMMANDS {
        assert!(
            !blocks(file).iter().any(Block::runs),
            "{file} has a command, so it belongs to those that are run"
        );
    }
}

#[test]
fn every_block_is_shown_run_or_skipped_for_a_known_reason() {
    let (mut run, mut skipped) = (0, 0);
    for file in all_documents() {
        for block in blocks(file) {
            let place = format!("{file}:{}", block.line);
            run += usize::from(block.runs());
            if let Some(reason) = block.skipped_because() {
                skipped += 1;
                assert!(REASONS.iter().any(|(known, _)| *known == reason), "{place}: no reason {reason}");
            } else {
                assert!(["sh", "text", "yaml"].contains(&block.tag.as_str()), "{place}: tag {:?}", block.tag);
            }
        }
    }
    println!("{run} blocks run, {skipped} are skipped");
    assert!(run > skipped, "{run} blocks run, {skipped} are skipped");
}

#[test]
fn every_make_target_that_is_named_exists() {
    let makefile = read("Makefile");
    let known = |target: &str| makefile.lines().any(|line| line.starts_with(&format!("{target}:")));
    let mut named = 0;
    for file in all_documents() {
        let skipped = blocks(file).into_iter().filter(|block| block.skipped_because() == Some("make"));
        let commands: Vec<String> =
            skipped.flat_map(|block| block.text.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
        for command in commands.iter().map(String::as_str).chain(quoted(&prose(file))) {
            let Some(target) = command.strip_prefix("make ") else { continue };
            let target = target.split_whitespace().next().unwrap();
            assert!(known(target), "{file}: there is no `make {target}`");
            named += 1;
        }
    }
    assert!(named > 0);
}

/// What stands between single backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| line.split('`').skip(1).step_by(2))
}

#[test]
fn every_link_leads_somewhere() {
    for file in all_documents() {
        let text = prose(file);
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if target.contains("://") {
                continue;
            }
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let here = Path::new(file).parent().unwrap();
            let named = if path.is_empty() { PathBuf::from(file) } else { here.join(path) };
            assert!(exists(&named), "{file}: {target} does not exist");
            if !anchor.is_empty() {
                let headings = read(named.to_str().unwrap());
                let found =
                    headings.lines().filter(|line| line.starts_with('#')).any(|line| slug(line) == anchor);
                assert!(found, "{file}: {target} has no such heading");
            }
        }
    }
}

#[test]
fn every_file_that_is_named_exists() {
    const TOP: [&str; 10] = [
        ".ci/",
        "bench/",
        "charts/",
        "crates/",
        "demo/",
        "docs/",
        "manifests/",
        "testbed/",
        "tests/",
        "target/",
    ];
    for file in all_documents() {
        let text = prose(file);
        for name in quoted(&text).filter(|name| TOP.iter().any(|top| name.starts_with(top))) {
            if name.starts_with("target/") || name.contains(['*', ' ', '{']) {
                continue;
            }
            assert!(exists(Path::new(name)), "{file}: {name} does not exist");
        }
    }
}

/// A file that a make target writes may not be there yet.
fn exists(path: &Path) -> bool {
    root().join(path).exists() || {
        let name = path.components().filter(|part| *part != std::path::Component::ParentDir);
        let name: PathBuf = name.collect();
        let written = format!("writes {}", name.display());
        read("Makefile").lines().any(|line| line.contains("## ") && line.contains(&written))
    }
}

/// The anchor of a heading, as GitHub makes it.
fn slug(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}

#[test]
fn every_test_named_in_the_architecture_exists() {
    let source = rust_files(&root().join("crates")) + &rust_files(&root().join("tests"));
    let text = prose("ARCHITECTURE.md");
    let named: BTreeSet<&str> = quoted(&text).filter(|name| is_test_name(name)).collect();
    assert!(named.len() > 30, "{} tests are named", named.len());
    for name in named {
        assert!(source.contains(&format!("fn {name}(")), "ARCHITECTURE.md names no test: {name}");
    }
}

/// Tests are sentences: at least four words.
fn is_test_name(name: &str) -> bool {
    name.matches('_').count() >= 3
        && name.chars().all(|letter| letter == '_' || letter.is_ascii_alphanumeric())
}

fn rust_files(folder: &Path) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            text += &rust_files(&path);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text += &std::fs::read_to_string(&path).unwrap();
        }
    }
    text
}

#[test]
fn every_word_the_code_can_say_is_explained() {
    let rows = [
        ("crates/engine/src/reason.rs", "docs/troubleshoot.md"),
        ("crates/api/src/rollout_plugin/conditions.rs", "docs/troubleshoot.md"),
        ("crates/api/src/rollout_plugin/events.rs", "docs/troubleshoot.md"),
        ("crates/workloads/src/guard.rs", "docs/troubleshoot.md"),
        ("crates/controller/src/analyse.rs", "docs/troubleshoot.md"),
    ];
    for (source, document) in rows {
        let document_text = read(document);
        let source = read(source);
        let source = source.split("#[cfg(test)]").next().unwrap_or_default();
        let words = source.split('"').skip(1).step_by(2).filter(|word| is_code(word));
        let is_ours =
            |word: &&str| !["True", "False", "Unknown"].contains(word) && !word.contains("Admission");
        for word in words.filter(is_ours) {
            assert!(document_text.contains(&format!("`{word}`")), "{document} does not explain {word}");
        }
    }
}

#[test]
fn every_metric_is_explained_in_a_table() {
    let (document, mut known) = (read("docs/metrics.md"), 0);
    for file in ["crates/controller/src/metrics.rs", "crates/controller/src/metrics/analyses.rs"] {
        let source = read(file);
        let source = source.split("#[cfg(test)]").next().unwrap_or_default();
        let ours = ["rolloutplugin_", "analysis_run_", "analysis_template_", "windlass_"];
        let is_ours = |word: &&str| {
            ours.iter().any(|begin| word.starts_with(begin))
                && !word.contains(|letter: char| !letter.is_ascii_lowercase() && letter != '_')
        };
        for name in source.split('"').skip(1).step_by(2).filter(is_ours) {
            known += 1;
            let row = format!("| `{name}");
            assert!(document.lines().any(|line| line.starts_with(&row)), "no row for {name}");
        }
    }
    assert!(known > 12, "{known} metrics");
}

/// A blank line ends a table, and what follows it is shown with its bars.
#[test]
fn every_table_is_whole() {
    for file in all_documents() {
        let text = prose(file);
        let lines: Vec<&str> = text.lines().collect();
        let is_row = |line: Option<&&str>| line.is_some_and(|line| line.starts_with('|'));
        for (index, line) in lines.iter().enumerate().filter(|(_, line)| line.starts_with('|')) {
            let first = index == 0 || !is_row(lines.get(index - 1));
            let headed = lines.get(index + 1).is_some_and(|next| next.starts_with("|---"));
            assert!(!first || headed, "{file}: a table begins without a head: {line}");
        }
    }
}

#[test]
fn every_warning_of_a_plan_is_explained() {
    let (source, document) = (read("crates/windlass/src/plan/warnings.rs"), read("docs/plan.md"));
    let (_, codes) = source.split_once("enum Code {").unwrap();
    let codes: Vec<&str> = codes.split('}').next().unwrap().split([',', '\n', ' ']).collect();
    let codes: Vec<&&str> = codes.iter().filter(|code| is_code(code)).collect();
    assert!(codes.len() > 10, "{codes:?}");
    for code in codes {
        assert!(document.contains(&format!("`{code}`")), "docs/plan.md does not explain {code}");
    }
}

/// One word that starts with a capital letter.
fn is_code(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_uppercase())
        && word.len() > 3
        && word.chars().all(|letter| letter.is_ascii_alphanumeric())
}

#[test]
fn every_dependency_has_its_reason() {
    let reasons = read("docs/dependencies.md");
    let manifests = [
        "crates/analysis",
        "crates/api",
        "crates/controller",
        "crates/engine",
        "crates/windlass",
        "crates/workloads",
    ];
    for manifest in manifests {
        let text = read(&format!("{manifest}/Cargo.toml"));
        let names =
            text.lines().skip_while(|line| *line != "[dependencies]").take_while(|line| *line != "[lints]");
        let names = names.filter_map(|line| line.split(['.', ' ', '=']).next());
        for name in names.filter(|name| !name.is_empty() && !name.starts_with(['[', '#'])) {
            let known = name.starts_with("windlass-") || reasons.contains(&format!("`{name}`"));
            assert!(known, "docs/dependencies.md does not say why {name} is there");
        }
    }
}

#[test]
fn who_has_argo_rollouts_is_warned_before_the_first_command_that_would_harm_it() {
    let files =
        ["README.md", "docs/getting-started.md", "docs/install.md", "docs/security.md", "docs/uninstall.md"];
    for file in files {
        let text = read(file);
        let harm = [
            "-f manifests/install.yaml",
            "windlass manifests | kubectl",
            "windlass manifests --without secrets | kubectl",
            "- ../manifests/crds\n",
        ];
        let harm = harm.iter().filter_map(|command| text.find(command)).min();
        let warned =
            text.find("#beside-argo-rollouts").or_else(|| text.find("manifests/beside-argo-rollouts"));
        assert!(warned.is_some() && harm.is_some() && warned < harm, "{file}");
    }
}

#[test]
fn the_documents_name_no_machine() {
    for file in all_documents() {
        for word in ["/work/", "/root/", "/home/"] {
            assert!(!read(file).contains(word), "{file} names a path of some machine: {word}");
        }
    }
}
