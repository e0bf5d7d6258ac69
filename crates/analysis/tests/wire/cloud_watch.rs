//! CloudWatch through everything that a controller asks it through: pages, and the credentials before them.

use serde_json::json;
use windlass_analysis::gauge::Measured;

use super::measured_in;
use super::server::{Reply, Server};

const CREDENTIALS: &str = "<AccessKeyId>the-key</AccessKeyId><SecretAccessKey>the-secret</SecretAccessKey><SessionToken>the-session</SessionToken>";

fn page(next: Option<&str>) -> Reply {
    let result = json!({"Id": "m", "Label": "m", "StatusCode": "Complete", "Timestamps": [1], "Values": [7]});
    Reply::good(json!({"MetricDataResults": [result], "NextToken": next}).to_string())
}

/// What comes of so many pages, after a token was exchanged.
async fn of_pages(pages: usize) -> Result<Measured, String> {
    let more = (1..pages).map(|_| page(Some("next")));
    let replies = [Reply::good(CREDENTIALS)].into_iter().chain(more).chain([page(None)]);
    let server = Server::answers(replies).await;
    let url = server.url();
    let environment = [
        ("AWS_ENDPOINT_URL", url.as_str()),
        ("AWS_REGION", "eu-central-1"),
        ("AWS_ROLE_ARN", "arn:aws:iam::1:role/windlass"),
        ("AWS_WEB_IDENTITY_TOKEN", "the-token"),
    ];
    let queries = json!([{"id": "m", "expression": "SUM(METRICS())"}]);
    measured_in(&json!({"cloudWatch": {"metricDataQueries": queries}}), &environment).await
}

#[tokio::test]
async fn ten_pages_are_read_after_a_token_was_exchanged_and_no_eleven() {
    assert!(of_pages(10).await.is_ok());
    let error = of_pages(11).await.unwrap_err();
    assert!(error.starts_with("CloudWatch has more than 10 pages of values"), "{error}");
}
