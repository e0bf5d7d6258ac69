//! The admission policies that hold a workload in the very write that changes it. They run inside the API server: no
//! webhook server has to be up.

/// The user that the policies let through: the controller's own ServiceAccount.
pub const DEFAULT_IDENTITY: &str = "system:serviceaccount:windlass:windlass";

/// What holds a new template until the first step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// A mutating policy raises the partition in the write that changes the template. Between two runs it is 0.
    Policy,
    /// The partition rests at HOLD between two runs, for servers that have no mutating policies.
    Partition,
}

/// The policies as YAML documents, letting these users through.
pub fn policies(hold: Holder, identities: &[String]) -> String {
    let texts: &[&str] = match hold {
        Holder::Policy => &[include_str!("policies/hold.yaml"), include_str!("policies/guard.yaml")],
        Holder::Partition => {
            &[include_str!("policies/guard.yaml"), include_str!("policies/keep-stable.yaml")]
        }
    };
    let rests_at_hold = match hold {
        Holder::Policy => "false",
        Holder::Partition => "true",
    };
    texts
        .join("---\n")
        .replace("WINDLASS_IDENTITIES", &quoted(identities))
        .replace("WINDLASS_RESTS_AT_HOLD", rests_at_hold)
}

/// As CEL writes a list of strings inside a double-quoted YAML string; a name must not end either of them.
fn quoted(identities: &[String]) -> String {
    let escape = |name: &String| {
        let cel = name.replace('\\', "\\\\").replace('\'', "\\'");
        format!("'{}'", cel.replace('\\', "\\\\").replace('"', "\\\""))
    };
    identities.iter().map(escape).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exempting(names: &[&str]) -> String {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        policies(Holder::Policy, &names)
    }

    #[test]
    fn the_policies_name_the_identities_they_let_through() {
        let text = exempting(&["system:serviceaccount:ops:windlass", "jane"]);
        assert_eq!(
            text.matches("!(request.userInfo.username in ['system:serviceaccount:ops:windlass', 'jane'])")
                .count(),
            2
        );
        assert!(!text.contains("WINDLASS_"));
    }

    #[test]
    fn a_quote_in_a_user_name_ends_neither_the_expression_nor_the_string() {
        assert!(exempting(&["o'brien"]).contains(r"in ['o\\'brien'])"));
        assert!(exempting(&[r#"a"b"#]).contains(r#"in ['a\"b'])"#));
    }
}
