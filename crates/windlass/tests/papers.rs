//! The papers beside the program: what they must say so that it works where it is installed. No cluster needed.

#![expect(clippy::unwrap_used, reason = "a paper that cannot be read is no paper")]

use std::path::Path;

fn paper(file: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(file)).unwrap()
}

/// Every test runs on a machine that has them, so no other test would miss them.
#[test]
fn the_image_has_the_certificates_of_authorities() {
    let dockerfile = paper("Dockerfile");
    let last = dockerfile.rsplit("\nFROM ").next().unwrap();
    let bundle = "/etc/ssl/certs/ca-certificates.crt";
    assert!(last.contains(&format!("COPY --from=build {bundle} {bundle}\n")), "{last}");
    assert!(dockerfile.contains("--no-install-recommends ca-certificates clang"), "{dockerfile}");
}

/// Where the image is built, no other file is there.
#[test]
fn every_member_of_the_workspace_is_there_when_the_image_is_built() {
    let (workspace, let_in) = (paper("Cargo.toml"), paper(".dockerignore"));
    let members = workspace.lines().find_map(|line| line.strip_prefix("members = [")).unwrap();
    let members: Vec<&str> = members.split('"').skip(1).step_by(2).collect();
    assert!(members.len() > 1, "{members:?}");
    for member in members {
        let folder = member.trim_end_matches("/*");
        assert!(let_in.lines().any(|line| line.strip_prefix('!') == Some(folder)), "{folder}: {let_in}");
    }
}

/// The part of a `NetworkPolicy` that lets the controller out to providers, by the port that it names.
#[test]
fn providers_are_reached_but_not_the_credentials_of_the_node() {
    let files = [
        "manifests/controller/networkpolicy.yaml",
        "manifests/install.yaml",
        "charts/windlass/templates/networkpolicy.yaml",
    ];
    for file in files {
        let text = paper(file);
        for words in [
            "cidr: 0.0.0.0/0\n        except:\n        - 169.254.169.254/32\n        - 100.100.100.200/32\n        - 168.63.129.16/32\n",
            "cidr: ::/0\n        except:\n        - fd00:ec2::254/128\n        - fd20:ce::254/128\n",
        ] {
            assert_eq!(text.matches(words).count(), 1, "{file}: {words}");
        }
    }
}
