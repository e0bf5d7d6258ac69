//! What may go wrong on the way: nobody there, slow, endless, led elsewhere; and that connections are used again.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::FutureExt;
use futures::future::join_all;
use serde_json::json;
use windlass_analysis::expression::Value;
use windlass_analysis::gauge::Measured;
use windlass_analysis::http::{Asker, Limits, Unmeasured};
use windlass_analysis::providers::{
    Answer, MOST_REQUESTS, Method, Provider, Request, SecretWanted, Setting, Step, Trust,
};

use super::server::{Reply, Server};
use super::{measured, now, provider};

/// Asks once and takes the text of the answer.
struct Once(Request);

impl Once {
    fn get(url: String, timeout: Duration) -> Self {
        let trust = Trust::default();
        Self(Request { method: Method::Get, url, headers: Vec::new(), body: None, timeout, trust })
    }
}

impl Provider for Once {
    fn longest(&self) -> Duration {
        self.0.timeout
    }

    fn secret(&self, _environment: &BTreeMap<String, String>) -> Option<SecretWanted> {
        None
    }

    fn step(&self, _: &Setting<'_>, answers: &[Answer]) -> Result<Step, String> {
        Ok(match answers {
            [] => Step::Ask(self.0.clone()),
            [answer, ..] => {
                let text = String::from_utf8_lossy(&answer.body).into_owned();
                Step::Done(Measured { value: Value::Text(text), metadata: BTreeMap::new() })
            }
        })
    }
}

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(200);

async fn text(asker: &Asker, provider: &dyn Provider) -> Result<String, String> {
    text_for("shop", asker, provider).await
}

/// The same for a namespace.
async fn text_for(namespace: &str, asker: &Asker, provider: &dyn Provider) -> Result<String, String> {
    let empty = BTreeMap::new();
    let setting = Setting { now: now(), namespace, secret: &empty, environment: &empty };
    match asker.measure(provider, &setting, &mut Vec::new()).await {
        Ok(fetched) => match fetched.measured.value {
            Value::Text(text) => Ok(text),
            other => panic!("{other:?}"),
        },
        Err(Unmeasured::Failed(why)) => Err(why),
        // No error of what is measured.
        Err(Unmeasured::Crowded(why)) => Err(format!("not asked: {why}")),
    }
}

async fn got(server: &Server, timeout: Duration) -> Result<String, String> {
    let answer = text(&Asker::default(), &Once::get(server.url(), timeout)).await;
    answer.map_err(|error| error.replace(&server.address.to_string(), "HOST"))
}

#[tokio::test]
async fn nobody_there_is_told_with_host_and_port() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let url = format!("http://{address}/path?token=secret");
    let error = measured(&json!({"web": {"url": url}})).await.unwrap_err();
    assert_eq!(error, format!("cannot reach {address}: connection refused"));
    let error = measured(&json!({"web": {"url": "http://nobody.invalid/"}})).await.unwrap_err();
    assert!(error.starts_with("cannot reach nobody.invalid:80: "), "{error}");
}

#[tokio::test]
async fn nobody_is_asked_at_the_addresses_of_the_machine_however_they_are_written() {
    let rows = [
        "169.254.169.254",
        "[fe80::1]",
        "[::ffff:169.254.169.254]",
        "[fd00:ec2::254]",
        // These are resolved as names are.
        "2852039166",
        "0xa9fea9fe",
        "169.254.43518",
    ];
    for host in rows {
        let error = measured(&json!({"web": {"url": format!("http://{host}/latest/meta-data/")}})).await;
        let error = error.unwrap_err();
        assert!(error.contains("nobody is asked at "), "{host}: {error}");
    }
}

#[tokio::test]
async fn a_slow_server_is_not_waited_for_longer_than_allowed() {
    let server = Server::answers([Reply::good("late").late(LONG)]).await;
    assert_eq!(got(&server, SHORT).await, Err("no answer from HOST within 200ms".to_owned()));
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_not_read_to_its_end() {
    let server = Server::answers([Reply::good("x".repeat(1024 * 1024 + 1))]).await;
    let words = "the answer of HOST is larger than 1 MiB: ask for less";
    assert_eq!(got(&server, LONG).await, Err(words.to_owned()));
    let server = Server::answers([Reply::good("x".repeat(1024 * 1024))]).await;
    assert_eq!(got(&server, LONG).await.map(|text| text.len()), Ok(1024 * 1024));
}

#[tokio::test]
async fn nobody_is_led_to_another_server() {
    let other = Server::answers([Reply::good("taken in")]).await;
    let server = Server::answers([Reply::leads_to(302, format!("{}/x?token=a", other.url()))]).await;
    let words = format!(
        "HOST leads to another server, {}, which is not followed: if that is where the value is, write its address into the template",
        other.address
    );
    assert_eq!(got(&server, LONG).await, Err(words));
    assert_eq!(other.seen().len(), 0);
}

#[tokio::test]
async fn on_the_same_server_an_answer_may_lead_on_a_few_times() {
    let server =
        Server::answers([Reply::leads_to(301, "/next"), Reply::leads_to(307, "last"), Reply::good("here")])
            .await;
    assert_eq!(got(&server, LONG).await.as_deref(), Ok("here"));
    let lines: Vec<String> = server.seen().iter().map(|it| it.lines().next().unwrap().to_owned()).collect();
    assert_eq!(lines, ["GET / HTTP/1.1", "GET /next HTTP/1.1", "GET /last HTTP/1.1"]);
    let server = Server::answers([Reply::leads_to(302, "/again")]).await;
    let words = "HOST leads from one address to the next, more than 5 times";
    assert_eq!(got(&server, LONG).await, Err(words.to_owned()));
    assert_eq!(server.seen().len(), 6);
}

#[tokio::test]
async fn what_was_posted_is_posted_again_only_where_that_was_asked_for() {
    for (status, again) in [(307, "POST"), (308, "POST"), (302, "GET"), (303, "GET")] {
        let server = Server::answers([Reply::leads_to(status, "/x"), Reply::good("1")]).await;
        let settings = json!({"web": {"url": server.url(), "method": "POST", "body": "b"}});
        assert!(measured(&settings).await.is_ok());
        let seen = server.seen();
        assert!(seen[1].starts_with(&format!("{again} /x")), "{status}: {}", seen[1]);
        assert_eq!(seen[1].ends_with("\n\nb"), again == "POST", "{status}: {}", seen[1]);
    }
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let server = Server::answers([Reply::good("1")]).await;
    let asker = Asker::default();
    for _ in 0..5 {
        assert_eq!(text(&asker, &Once::get(server.url(), LONG)).await.as_deref(), Ok("1"));
    }
    assert_eq!((server.seen().len(), server.connections()), (5, 1));
}

/// What is said, with HOST for a server.
fn words(answer: Result<String, String>, server: &Server) -> String {
    answer.unwrap_or_else(|error| error).replace(&server.address.to_string(), "HOST")
}

const BEHIND: &str = "not asked: waited 200ms behind other requests, to HOST or of the same namespace, which are slow or not judged yet";

#[tokio::test]
async fn a_slow_host_holds_up_only_those_who_ask_it() {
    let slow = Server::answers([Reply::good("late").late(LONG)]).await;
    let quick = Server::answers([Reply::good("quick")]).await;
    let asker = Asker::new(Limits { per_host: 4, wait: SHORT, ..Limits::default() });
    let of_slow = [(); 4].map(|()| Once::get(slow.url(), 10 * SHORT));
    let of_quick = Once::get(quick.url(), LONG);
    let waits = join_all(of_slow.iter().map(|one| text(&asker, one)));
    let (waited, answer) = tokio::join!(waits, text(&asker, &of_quick));
    assert_eq!(answer.as_deref(), Ok("quick"));
    let told: Vec<String> = waited.into_iter().map(|it| words(it, &slow)).collect();
    let none = "no answer from HOST within 2s";
    assert_eq!(told, [none, none, BEHIND, BEHIND]);
    assert_eq!(slow.seen().len(), 2);
}

#[tokio::test]
async fn what_is_slow_in_one_namespace_holds_up_no_other_one() {
    let server =
        Server::answers([Reply::good("late").late(LONG), Reply::good("late").late(LONG), Reply::good("1")])
            .await;
    let others: Vec<Server> =
        join_all((0..2).map(|_| Server::answers([Reply::good("late").late(LONG)]))).await;
    let asker = Asker::new(Limits { per_host: 4, in_all: 8, wait: SHORT });
    // Four of eight places are one namespace's; two of four of a host.
    let slow = [&server, &server, &server, &others[0], &others[1], &others[1]];
    let slow = slow.map(|server| (server, Once::get(server.url(), 10 * SHORT)));
    let waits =
        join_all(slow.iter().map(async |(server, one)| words(text_for("slow", &asker, one).await, server)));
    let of_quick = Once::get(server.url(), LONG);
    let quick = async {
        while server.seen().len() < 2 {
            tokio::task::yield_now().await;
        }
        text_for("quick", &asker, &of_quick).await
    };
    let (waited, answer) = tokio::join!(waits, quick);
    assert_eq!(answer.as_deref(), Ok("1"));
    let none = "no answer from HOST within 2s";
    assert_eq!(waited, [none, none, BEHIND, none, none, BEHIND]);
}

#[tokio::test]
async fn a_value_holds_the_place_of_its_request_until_it_is_judged() {
    let server = Server::answers([Reply::good("1")]).await;
    let asker = Asker::new(Limits { per_host: 4, wait: SHORT, ..Limits::default() });
    let once = Once::get(server.url(), LONG);
    let empty = BTreeMap::new();
    let setting = Setting { now: now(), namespace: "shop", secret: &empty, environment: &empty };
    // Two of four places are one namespace's.
    let mut held = Vec::new();
    for _ in 0..2 {
        held.push(asker.measure(&once, &setting, &mut Vec::new()).await.unwrap());
    }
    assert_eq!(words(text(&asker, &once).await, &server), BEHIND);
    assert_eq!(text_for("other", &asker, &once).await.as_deref(), Ok("1"));
    assert_eq!(server.seen().len(), 3);
    drop(held);
    assert_eq!(text(&asker, &once).await.as_deref(), Ok("1"));
}

#[tokio::test]
async fn the_time_of_a_request_begins_when_there_is_a_place_for_it() {
    let server = Server::answers([Reply::good("1").late(SHORT)]).await;
    let asker = Asker::new(Limits { per_host: 2, ..Limits::default() });
    let providers = [(); 4].map(|()| Once::get(server.url(), 3 * SHORT));
    let answers = join_all(providers.iter().map(|one| text(&asker, one))).await;
    assert_eq!(answers, [(); 4].map(|()| Ok("1".to_owned())));
}

#[tokio::test]
async fn each_pod_is_asked_by_itself() {
    let server = Server::answers([Reply::good("7")]).await;
    let ask = |url: String| provider(&json!({"web": {"url": url}}));
    let providers = BTreeMap::from([
        ("db-0".to_owned(), ask(format!("{}/db-0", server.url()))),
        ("db-1".to_owned(), ask("http://nobody.invalid/".to_owned())),
    ]);
    let empty = BTreeMap::new();
    let setting = Setting { now: now(), namespace: "shop", secret: &empty, environment: &empty };
    let made = |pod: String, measured: Result<Measured, String>| {
        async move { (pod, measured.map(|it| it.value)) }.boxed()
    };
    let asker = Asker::default();
    let values = asker.measure_each(&providers, &setting, made, &mut Vec::new()).await.unwrap();
    assert_eq!(values["db-0"], ("db-0".to_owned(), Ok(Value::Float(7.0))));
    assert!(values["db-1"].1.is_err());
}

/// Asks a server for two pods that has a place for one of them at a time.
async fn of_two_pods(
    server: &Server,
    wait: Duration,
    seconds: u32,
) -> Result<BTreeMap<String, Result<(), String>>, String> {
    let ask = || provider(&json!({"web": {"url": server.url(), "timeoutSeconds": seconds}}));
    let providers = BTreeMap::from([("db-0".to_owned(), ask()), ("db-1".to_owned(), ask())]);
    let empty = BTreeMap::new();
    let setting = Setting { now: now(), namespace: "shop", secret: &empty, environment: &empty };
    let made = |_, measured: Result<Measured, String>| async move { measured.map(|_| ()) }.boxed();
    let asker = Asker::new(Limits { per_host: 2, wait, ..Limits::default() });
    asker.measure_each(&providers, &setting, made, &mut Vec::new()).await
}

#[tokio::test]
async fn where_others_are_in_the_way_of_one_pod_nothing_is_said_of_any() {
    let slow = Server::answers([Reply::good("7").late(3 * SHORT)]).await;
    let why = of_two_pods(&slow, SHORT, 60).await.unwrap_err();
    assert!(why.starts_with("waited 200ms behind other requests"), "{why}");
}

#[tokio::test]
async fn those_who_waited_behind_a_pod_that_could_not_be_measured_could_not_be_either() {
    let silent = Server::answers([Reply::good("7").late(LONG)]).await;
    let values = of_two_pods(&silent, SHORT, 1).await.unwrap();
    let mut told: Vec<&str> = values.values().map(|it| it.as_ref().unwrap_err().as_str()).collect();
    told.sort_unstable();
    assert!(told[0].ends_with("within 1s") && told[1].starts_with("waited 200ms behind"), "{told:?}");
}

#[tokio::test]
async fn a_provider_that_never_ends_is_ended() {
    struct Endless(Once);
    impl Provider for Endless {
        fn longest(&self) -> Duration {
            self.0.longest().saturating_mul(MOST_REQUESTS)
        }
        fn secret(&self, _environment: &BTreeMap<String, String>) -> Option<SecretWanted> {
            None
        }
        fn step(&self, _: &Setting<'_>, _: &[Answer]) -> Result<Step, String> {
            Ok(Step::Ask(self.0.0.clone()))
        }
    }
    let server = Server::answers([Reply::good("more")]).await;
    let error = text(&Asker::default(), &Endless(Once::get(server.url(), LONG))).await.unwrap_err();
    assert_eq!(error, format!("the provider asked {MOST_REQUESTS} times and has no value yet"));
    assert_eq!(server.seen().len(), MOST_REQUESTS as usize);
}

/// Asks for three pages.
struct Pages(Once);

impl Provider for Pages {
    fn longest(&self) -> Duration {
        self.0.longest()
    }

    fn secret(&self, _environment: &BTreeMap<String, String>) -> Option<SecretWanted> {
        None
    }

    fn step(&self, setting: &Setting<'_>, answers: &[Answer]) -> Result<Step, String> {
        if answers.len() < 3 { Ok(Step::Ask(self.0.0.clone())) } else { self.0.step(setting, answers) }
    }
}

#[tokio::test]
async fn the_pages_of_an_answer_are_no_larger_together_than_an_answer_may_be() {
    let page = |bytes: usize| Reply::good("x".repeat(bytes));
    for (bytes, fits) in [(340_000, true), (360_000, false)] {
        let server = Server::answers([page(bytes)]).await;
        let answer = text(&Asker::default(), &Pages(Once::get(server.url(), LONG))).await;
        assert_eq!(answer.is_ok(), fits, "{bytes}");
        if !fits {
            assert_eq!(words(answer, &server), "the answer of HOST is larger than 1 MiB: ask for less");
        }
    }
}

/// Answers of 900 kB that stop before their end hold their places; a small one needs none.
#[tokio::test]
async fn of_large_answers_few_are_read_at_once() {
    let slow = Server::answers([Reply::good("x".repeat(900_000)).unfinished()]).await;
    let small = Server::answers([Reply::good("1")]).await;
    let asker = Asker::new(Limits { wait: SHORT, ..Limits::default() });
    let of_slow: Vec<Once> = (0..20).map(|_| Once::get(slow.url(), 10 * SHORT)).collect();
    let all = join_all(of_slow.iter().map(|one| text(&asker, one)));
    let of_small = Once::get(small.url(), LONG);
    let (all, answer) = tokio::join!(all, text(&asker, &of_small));
    assert_eq!(answer.as_deref(), Ok("1"));
    let told: Vec<String> = all.into_iter().map(|it| words(it, &slow)).collect();
    let many = "not asked: the answer of HOST is larger than 8 KiB, and many such are being read or judged: ask for less";
    // Sixteen of 32 places are one namespace's.
    assert_eq!(told.iter().filter(|words| *words == many).count(), 4, "{told:?}");
}

#[tokio::test]
async fn the_time_of_a_large_answer_stands_still_while_it_waits_for_others() {
    let slow = Server::answers([Reply::good("x".repeat(900_000)).unfinished()]).await;
    let good = Server::answers([Reply::good("x".repeat(900_000))]).await;
    let asker = Asker::default();
    // As many as one namespace may have read at once.
    let of_slow: Vec<Once> = (0..16).map(|_| Once::get(slow.url(), 5 * SHORT)).collect();
    let all = join_all(of_slow.iter().map(|one| text(&asker, one)));
    let of_good = Once::get(good.url(), 3 * SHORT);
    let (all, answer) = tokio::join!(all, async {
        // They have their places with the first bytes of their answers.
        while slow.seen().len() < 16 {
            tokio::task::yield_now().await;
        }
        text(&asker, &of_good).await
    });
    assert_eq!(answer.map(|text| text.len()), Ok(900_000));
    let told: Vec<String> = all.into_iter().map(|it| words(it, &slow)).collect();
    assert_eq!(told, vec!["no answer from HOST within 1s"; 16]);
}

#[tokio::test]
async fn those_who_read_large_pages_and_those_who_want_to_do_not_wait_for_each_other() {
    let server = Server::answers([Reply::good("x".repeat(100_000))]).await;
    let asker = Asker::new(Limits { wait: LONG, ..Limits::default() });
    // Twice as many as one namespace has places at a host, which are twice as many as it has among large answers.
    let pages: Vec<Pages> = (0..64).map(|_| Pages(Once::get(server.url(), LONG))).collect();
    let all = join_all(pages.iter().map(|one| text(&asker, one)));
    let answers = tokio::time::timeout(LONG / 2, all).await.expect("everybody has a turn");
    assert!(answers.iter().all(|answer| answer.as_ref().is_ok_and(|text| text.len() == 100_000)));
}
