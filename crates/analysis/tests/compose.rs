//! From the analysis of a rollout to the spec of its run, and everything that can be wrong with it.
#![expect(clippy::unwrap_used, reason = "this is test code")]

use serde_json::{Value, json};
use windlass_analysis::compose::{About, Standing, Templates, compose, field_of};
use windlass_api::analysis::AnalysisRunSpec;
use windlass_api::rollout_plugin::RolloutAnalysis;

const AT_STEP: Standing = Standing::AtStep { has_pods: true };

fn rollout() -> Value {
    json!({
        "metadata": {"name": "web", "namespace": "data", "labels": {"app.kubernetes.io/name": "web"}},
        "spec": {"strategy": {"canary": {"steps": [{"setWeight": 20}]}}},
    })
}

fn templates(list: &[(&str, Value)]) -> Templates {
    let entry = |(name, spec): &(&str, Value)| {
        let reference = serde_json::from_value(json!({"templateName": name})).unwrap();
        (reference, serde_json::from_value(spec.clone()).unwrap())
    };
    list.iter().map(entry).collect()
}

fn composed(analysis: Value, known: &Templates, standing: Standing) -> Result<AnalysisRunSpec, Vec<String>> {
    let analysis: RolloutAnalysis = serde_json::from_value(analysis).unwrap();
    let rollout = rollout();
    compose(&analysis, known, About { rollout: &rollout, stable: "web-a", latest: "web-b" }, standing)
}

fn errors() -> Value {
    json!({
        "args": [{"name": "revision"}, {"name": "former", "value": "none"}, {"name": "app"}, {"name": "token"}],
        "metrics": [{"name": "errors", "count": "{{args.former}}", "provider": {"web": {
            "url": "http://metrics/{{args.app}}/{{args.revision}}",
            "headers": [{"key": "Authorization", "value": "Bearer {{args.token}}"}],
        }}}],
    })
}

fn given() -> Value {
    json!([
        {"name": "revision", "valueFrom": {"podTemplateHashValue": "Latest"}},
        {"name": "former", "value": "3"},
        {"name": "app", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['app.kubernetes.io/name']"}}},
        {"name": "token", "valueFrom": {"secretKeyRef": {"name": "tokens", "key": "read"}}},
    ])
}

#[test]
fn the_name_of_a_secret_cannot_lead_out_of_its_path() {
    let known = templates(&[("errors", errors())]);
    let mut args = given();
    args[3]["valueFrom"]["secretKeyRef"]["name"] = "../configmaps/a?b".into();
    let analysis = json!({"templates": [{"templateName": "errors"}], "args": args});
    let flaws = composed(analysis, &known, AT_STEP).unwrap_err();
    let words = "spec.args.token.valueFrom.secretKeyRef.name: \"../configmaps/a?b\" is no name of an object";
    assert!(flaws.iter().any(|flaw| flaw.starts_with(words)), "{flaws:?}");
}

#[test]
fn arguments_come_from_values_revisions_fields_and_secrets_stay_where_they_are() {
    let mut template = errors();
    template["metrics"][0]["interval"] = "10s".into();
    let known = templates(&[("errors", template)]);
    let spec = composed(json!({"templates": [{"templateName": "errors"}], "args": given()}), &known, AT_STEP);
    let args = serde_json::to_value(spec.unwrap().args).unwrap();
    assert_eq!(
        args,
        json!([
            {"name": "revision", "value": "web-b"},
            {"name": "former", "value": "3"},
            {"name": "app", "value": "web"},
            {"name": "token", "valueFrom": {"secretKeyRef": {"name": "tokens", "key": "read"}}},
        ])
    );
}

#[test]
fn whatever_is_wrong_is_told_before_anything_is_measured() {
    let web = json!({"web": {"url": "http://metrics/"}});
    let one = |more: Value| {
        let mut metric = json!({"name": "errors", "provider": web.clone()});
        metric.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"metrics": [metric]})
    };
    let secret =
        json!([{"name": "limit", "valueFrom": {"secretKeyRef": {"name": "limits", "key": "errors"}}}]);
    let with_secret = |field: &str| {
        let mut template = one(json!({field: "result < {{ args.limit }}"}));
        template["args"] = secret.clone();
        template
    };
    let per_pod = |provider: Value| one(json!({"forEachPod": {}, "provider": provider}));
    let twice = json!({"name": "a", "value": "1", "valueFrom": {"secretKeyRef": {"name": "b", "key": "c"}}});
    let declares = |args: Value| {
        let mut template = one(json!({}));
        template["args"] = args;
        template
    };
    let rows: [(&str, Value, Value); 15] = [
        (
            "spec.args.a: it has value and valueFrom.secretKeyRef: keep one",
            declares(json!([twice])),
            json!({}),
        ),
        (
            "spec.args.a: it has valueFrom.secretKeyRef and valueFrom.podTemplateHashValue: keep one",
            declares(json!([{"name": "a"}])),
            json!({"args": [{"name": "a", "valueFrom": {
                "secretKeyRef": {"name": "b", "key": "c"}, "podTemplateHashValue": "Latest",
            }}]}),
        ),
        (
            "spec.metrics[0].successCondition: {{args.limit}} comes from a Secret, and everybody sees a condition",
            with_secret("successCondition"),
            json!({}),
        ),
        (
            "spec.metrics[0].failureCondition: {{args.limit}} comes from a Secret",
            with_secret("failureCondition"),
            json!({}),
        ),
        (
            "spec.metrics[0].forEachPod: it is for providers that are asked over HTTP, not for job",
            per_pod(json!({"job": {"spec": {"template": {"spec": {}}}}})),
            json!({}),
        ),
        (
            "spec.metrics[0].forEachPod: it is for providers that are asked over HTTP, not for kubernetes",
            per_pod(json!({"kubernetes": {"expression": "pods.size()"}})),
            json!({}),
        ),
        ("does not exist", json!({}), json!({"templates": [{"templateName": "nobody"}]})),
        ("in a circle: errors -> errors", json!({"templates": [{"templateName": "errors"}]}), json!({})),
        (
            "args: colour not declared by a template; declared: none",
            one(json!({})),
            json!({"args": [{"name": "colour", "value": "red"}]}),
        ),
        ("args.revision was not resolved", errors(), json!({})),
        (
            "neither Stable nor Latest",
            errors(),
            json!({"args": [{"name": "revision", "valueFrom": {"podTemplateHashValue": "Newest"}}]}),
        ),
        (
            "there is no field metadata.colour",
            errors(),
            json!({"args": [{"name": "revision", "valueFrom": {"fieldRef": {"fieldPath": "metadata.colour"}}}]}),
        ),
        ("is no condition", one(json!({"successCondition": "result <"})), json!({})),
        ("runs indefinitely", one(json!({"interval": "10s"})), json!({})),
        ("no provider", json!({"metrics": [{"name": "errors"}]}), json!({})),
    ];
    for (told, template, analysis) in rows {
        let known = templates(&[("errors", template)]);
        let mut analysis = analysis;
        if analysis.get("templates").is_none() {
            analysis["templates"] = json!([{"templateName": "errors"}]);
        }
        let problems = composed(analysis, &known, AT_STEP).unwrap_err();
        assert!(problems.iter().any(|problem| problem.contains(told)), "{told}: {problems:?}");
        let without_a_doubt = problems.iter().all(|problem| !problem.contains("*****"));
        assert!(without_a_doubt, "a placeholder says nothing: {problems:?}");
    }
}

#[test]
fn a_condition_that_cannot_judge_what_comes_is_told() {
    let rows = [
        (
            "sum(errors)",
            "result < 0.05",
            "spec.metrics[0].successCondition: \"result < 0.05\" cannot judge a list, which is what prometheus \
             answers with (result[0] is its first value): `<` does not go with a list and a number",
        ),
        (
            "errors",
            "result",
            "spec.metrics[0].successCondition: \"result\" cannot judge a list, which is what prometheus answers with \
             (result[0] is its first value): a condition must give true or false, but this one gives a list",
        ),
    ];
    for (query, condition, told) in rows {
        let provider = json!({"prometheus": {"address": "http://p", "query": query}});
        let metric = json!({"name": "errors", "successCondition": condition, "provider": provider});
        let known = templates(&[("errors", json!({"metrics": [metric]}))]);
        let problems =
            composed(json!({"templates": [{"templateName": "errors"}]}), &known, AT_STEP).unwrap_err();
        assert!(problems[0].contains(told), "{problems:?}");
    }
}

#[test]
fn a_condition_that_can_judge_what_comes_is_taken() {
    let prometheus = |query: &str| json!({"prometheus": {"address": "http://p", "query": query}});
    let rows = [
        (prometheus("errors"), "result[0] < 0.05"),
        (prometheus("errors"), "len(result) == 0 || all(result, # < 0.05)"),
        (prometheus("errors"), "isNil(result) or result[0] < 1"),
        (prometheus("errors"), "default(result, [0])[0] < 1"),
        (prometheus("scalar(errors)"), "result < 0.05"),
        // Of VictoriaMetrics.
        (prometheus("scalar(errors)"), "result[0] < 0.05"),
        (prometheus("scalar(a) / scalar(b)"), "result < 0.05"),
        (prometheus("scalar(a) / scalar(b)"), "result[0] < 0.05"),
        (json!({"web": {"url": "http://w"}}), "result < 1"),
        (json!({"web": {"url": "http://w"}}), "result.healthy"),
    ];
    for (provider, condition) in rows {
        let metric = json!({"name": "errors", "successCondition": condition, "provider": provider});
        let known = templates(&[("errors", json!({"metrics": [metric]}))]);
        let taken = composed(json!({"templates": [{"templateName": "errors"}]}), &known, AT_STEP);
        assert!(taken.is_ok(), "{condition}: {taken:?}");
    }
}

#[test]
fn a_run_whose_argument_is_there_twice_is_told() {
    let spec = json!({
        "args": [{"name": "a", "value": "1"}, {"name": "a", "value": "2"}],
        "metrics": [{"name": "errors", "provider": {"web": {"url": "http://w"}}}],
    });
    let spec: AnalysisRunSpec = serde_json::from_value(spec).unwrap();
    let told = windlass_analysis::compose::prepare(&spec).unwrap_err().told();
    assert_eq!(told, ["spec.args.a: it is there twice: keep one"]);
}

#[test]
fn a_value_that_the_rollout_gives_in_place_of_a_secret_may_stand_in_a_condition() {
    let template = json!({
        "args": [{"name": "limit", "valueFrom": {"secretKeyRef": {"name": "limits", "key": "errors"}}}],
        "metrics": [{"name": "errors", "successCondition": "result < {{args.limit}}",
                     "provider": {"web": {"url": "http://metrics/"}}}],
    });
    let known = templates(&[("errors", template)]);
    let given = json!({"templates": [{"templateName": "errors"}], "args": [{"name": "limit", "value": "5"}]});
    assert!(composed(given, &known, AT_STEP).is_ok());
}

#[test]
fn an_analysis_beside_the_steps_may_go_on_without_end() {
    let template = json!({"metrics": [{"name": "errors", "interval": "10s", "provider": {"web": {"url": "http://metrics/"}}}]});
    let known = templates(&[("errors", template)]);
    assert!(
        composed(json!({"templates": [{"templateName": "errors"}]}), &known, Standing::BesideSteps).is_ok()
    );
}

#[test]
fn fields_are_found_by_their_paths() {
    let rows = [
        ("metadata.name", Ok("web")),
        ("metadata.labels['app.kubernetes.io/name']", Ok("web")),
        ("spec.strategy.canary.steps[0].setWeight", Ok("20")),
        // As in the downward API.
        ("metadata.labels['team']", Ok("")),
        ("metadata.annotations['note']", Ok("")),
        ("metadata.labels", Err("metadata.labels is no single value")),
        (
            "spec.strategy.canary.steps[7].setWeight",
            Err("there is no field spec.strategy.canary.steps[7].setWeight"),
        ),
        ("metadata.labels[", Err("\"metadata.labels[\" is no path of a field")),
        ("", Err("\"\" is no path of a field")),
    ];
    for (path, expected) in rows {
        assert_eq!(field_of(&rollout(), path).as_deref().map_err(String::as_str), expected, "{path}");
    }
}

#[test]
fn a_metric_for_each_pod_has_pods_to_ask_for_wherever_a_step_waits_for_it() {
    let metric =
        json!({"name": "lag", "forEachPod": {}, "provider": {"web": {"url": "http://{{pod.name}}"}}});
    let known = templates(&[("lag", json!({"metrics": [metric]}))]);
    let at = |standing| composed(json!({"templates": [{"templateName": "lag"}]}), &known, standing);
    let before_any = at(Standing::AtStep { has_pods: false }).unwrap_err();
    let told =
        "metric \"lag\" looks at updated pods, and there are none at this step: put a setWeight before it";
    assert_eq!(before_any, [told]);
    assert!(at(AT_STEP).is_ok() && at(Standing::BesideSteps).is_ok());
}

#[test]
fn an_expression_over_updated_pods_has_some_to_look_at_even_if_it_is_given_as_an_argument() {
    let template = json!({
        "args": [{"name": "check"}],
        "metrics": [{"name": "ready", "provider": {"kubernetes": {"expression": "{{args.check}}"}}}],
    });
    let known = templates(&[("ready", template)]);
    let given = |check: &str, standing| {
        let args = json!([{"name": "check", "value": check}]);
        composed(json!({"templates": [{"templateName": "ready"}], "args": args}), &known, standing)
    };
    let before_any = Standing::AtStep { has_pods: false };
    let told = given("updated.all(it, it.ready)", before_any).unwrap_err();
    assert!(told[0].contains("looks at updated pods, and there are none at this step"), "{told:?}");
    assert!(given("updated.all(it, it.ready)", AT_STEP).is_ok());
    assert!(given("workload.status.updated == 3", before_any).is_ok(), "a field is no pod");
}
