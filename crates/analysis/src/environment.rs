//! The environment of the process, as providers see it. Not pure: whoever asks providers reads it here, so that the
//! controller and the command line see the same.

use std::collections::BTreeMap;

/// What a file named in the environment holds is offered under another name: providers do not read files.
const FILES: [(&str, &str); 2] = [
    ("AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_WEB_IDENTITY_TOKEN"),
    ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "AWS_CONTAINER_AUTHORIZATION_TOKEN"),
];

/// The variables that are texts, and what the files hold that they name. To be read anew for every measurement: a cluster
/// replaces its tokens every hour.
pub async fn environment() -> BTreeMap<String, String> {
    let texts = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    with_files(texts.collect()).await
}

/// The same of other variables. A file that cannot be read is left out: who needs it says so.
async fn with_files(mut variables: BTreeMap<String, String>) -> BTreeMap<String, String> {
    for (file, name) in FILES {
        if let Some(path) = variables.get(file)
            && let Ok(text) = tokio::fs::read_to_string(path).await
        {
            variables.insert(name.to_owned(), text.trim().to_owned());
        }
    }
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_a_named_file_holds_stands_beside_its_name() {
        let file = std::env::temp_dir().join(format!("windlass-environment-{}", std::process::id()));
        std::fs::write(&file, "t0ken\n").unwrap();
        let path = file.to_str().unwrap().to_owned();
        let variables = BTreeMap::from([
            ("AWS_WEB_IDENTITY_TOKEN_FILE".to_owned(), path.clone()),
            ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE".to_owned(), "/no/such/file".to_owned()),
            ("AWS_REGION".to_owned(), "eu-central-1".to_owned()),
        ]);
        let seen = with_files(variables.clone()).await;
        std::fs::remove_file(&file).unwrap();
        let mut wanted = variables;
        wanted.insert("AWS_WEB_IDENTITY_TOKEN".to_owned(), "t0ken".to_owned());
        assert_eq!(seen, wanted);
    }
}
