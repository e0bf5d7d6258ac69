//! The environment of the process, as providers see it. Not pure: whoever asks providers reads it here, so that the
//! controller and the command line see the same.

use std::collections::BTreeMap;

use crate::providers::aws::profile;

/// What a file named in the environment holds is offered under another name: providers do not read files. Some are
/// looked for at home if nobody names them.
const FILES: [(&str, &str, Option<&str>); 4] = [
    ("AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_WEB_IDENTITY_TOKEN", None),
    ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "AWS_CONTAINER_AUTHORIZATION_TOKEN", None),
    ("AWS_CONFIG_FILE", "AWS_CONFIG", Some(".aws/config")),
    ("AWS_SHARED_CREDENTIALS_FILE", "AWS_SHARED_CREDENTIALS", Some(".aws/credentials")),
];

/// The variables that are texts, and what the files hold that they name. To be read anew for every measurement: a cluster
/// replaces its tokens every hour. The files are few, small and on this machine: reading them takes less than handing that
/// to another thread.
pub fn environment() -> BTreeMap<String, String> {
    let texts = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    with_files(texts.collect())
}

/// The same of other variables. A file that cannot be read is left out: who needs it says so. What a file holds that a
/// profile for AWS names stands under the name of that file.
fn with_files(mut variables: BTreeMap<String, String>) -> BTreeMap<String, String> {
    for (file, name, at_home) in FILES {
        let home = variables.get("HOME").zip(at_home).map(|(home, path)| format!("{home}/{path}"));
        let Some(path) = variables.get(file).cloned().or(home) else { continue };
        if let Ok(text) = std::fs::read_to_string(&path) {
            variables.insert(name.to_owned(), text.trim().to_owned());
        }
    }
    let files: Vec<String> = ["AWS_CONFIG", "AWS_SHARED_CREDENTIALS"]
        .iter()
        .filter_map(|name| variables.get(*name))
        .flat_map(|text| profile::token_files(text))
        .collect();
    for path in files {
        if let Ok(text) = std::fs::read_to_string(&path) {
            variables.insert(path, text.trim().to_owned());
        }
    }
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_named_file_holds_stands_beside_its_name() {
        let file = std::env::temp_dir().join(format!("windlass-environment-{}", std::process::id()));
        std::fs::write(&file, "t0ken\n").unwrap();
        let path = file.to_str().unwrap().to_owned();
        let home = std::env::temp_dir().join(format!("windlass-home-{}", std::process::id()));
        std::fs::create_dir_all(home.join(".aws")).unwrap();
        let config = format!("[profile a]\nweb_identity_token_file = {path}");
        std::fs::write(home.join(".aws/config"), &config).unwrap();
        let variables = BTreeMap::from([
            ("HOME".to_owned(), home.to_str().unwrap().to_owned()),
            ("AWS_WEB_IDENTITY_TOKEN_FILE".to_owned(), path.clone()),
            ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE".to_owned(), "/no/such/file".to_owned()),
            ("AWS_REGION".to_owned(), "eu-central-1".to_owned()),
        ]);
        let seen = with_files(variables.clone());
        std::fs::remove_file(&file).unwrap();
        std::fs::remove_dir_all(&home).unwrap();
        let mut wanted = variables;
        wanted.insert("AWS_CONFIG".to_owned(), config);
        wanted.insert(path, "t0ken".to_owned());
        wanted.insert("AWS_WEB_IDENTITY_TOKEN".to_owned(), "t0ken".to_owned());
        assert_eq!(seen, wanted);
    }
}
