//! The admission policies that hold a workload in the very write that changes it. They run inside the API server: no
//! webhook server has to be up.

/// The user that the policies let through: the controller's own ServiceAccount.
pub const DEFAULT_IDENTITY: &str = "system:serviceaccount:windlass:windlass";

/// The policies as YAML documents, exempting one user.
pub fn hold_policies(identity: &str) -> String {
    // CEL takes single-quoted strings; a user name with a quote or backslash must not end it.
    let escaped = identity.replace('\\', "\\\\").replace('\'', "\\'");
    include_str!("policies/hold.yaml").replace("WINDLASS_IDENTITY", &escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_names_the_identity_it_lets_through() {
        let text = hold_policies("system:serviceaccount:ops:windlass");
        assert!(text.contains("request.userInfo.username != 'system:serviceaccount:ops:windlass'"));
        assert!(!text.contains("WINDLASS_IDENTITY"));
    }

    #[test]
    fn a_quote_in_a_user_name_does_not_end_the_expression() {
        assert!(hold_policies("o'brien").contains(r"!= 'o\'brien'"));
    }
}
