//! Who owns which field (`metadata.managedFields`): what an apply takes out, and what it must not take from others.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::fields::{self, Fields};
use super::patch::Apply;
use super::{Caller, Part};
use crate::object::{self, list, map_at, moment, text};
use crate::refusal::Refusal;
use crate::resource::Resource;

/// Who is said to own what was there before anybody asked for owners.
const BEFORE: &str = "before-first-apply";

/// What one manager owns by one way of writing.
struct Owner {
    manager: String,
    operation: String,
    subresource: String,
    time: Option<String>,
    fields: Fields,
}

impl Owner {
    fn applies(&self) -> bool {
        self.operation == "Apply"
    }

    fn named(&self, resource: Resource) -> String {
        let part = match self.subresource.as_str() {
            "" => String::new(),
            part => format!(" with subresource {part:?}"),
        };
        let version =
            if self.applies() { String::new() } else { format!(" using {}", resource.api_version()) };
        format!("{:?}{part}{version}", self.manager)
    }
}

fn read(object: &Value) -> Vec<Owner> {
    let owned = |entry: &Value| {
        let said = |field| text(entry, &[field]).unwrap_or_default().to_owned();
        Owner {
            manager: said("manager"),
            operation: said("operation"),
            subresource: said("subresource"),
            time: text(entry, &["time"]).map(str::to_owned),
            fields: entry.get("fieldsV1").map(fields::read).unwrap_or_default(),
        }
    };
    list(object, &["metadata", "managedFields"]).iter().map(owned).collect()
}

fn write(resource: Resource, object: &mut Value, owners: &[Owner]) {
    let entries: Vec<Value> = owners
        .iter()
        .filter(|owner| !owner.fields.is_empty())
        .map(|owner| {
            let mut entry = json!({
                "manager": owner.manager, "operation": owner.operation, "apiVersion": resource.api_version(),
                "fieldsType": "FieldsV1", "fieldsV1": fields::write(&owner.fields),
            });
            if let Some(time) = &owner.time {
                entry["time"] = json!(time);
            }
            if !owner.subresource.is_empty() {
                entry["subresource"] = json!(owner.subresource);
            }
            entry
        })
        .collect();
    let meta = map_at(object, &["metadata"]);
    if entries.is_empty() {
        meta.remove("managedFields");
    } else {
        meta.insert("managedFields".to_owned(), Value::Array(entries));
    }
}

/// The entry of a manager, made where it is missing.
fn entry<'a>(owners: &'a mut Vec<Owner>, manager: &str, operation: &str, part: Part) -> &'a mut Owner {
    let subresource = match part {
        Part::Whole | Part::Finalizers => "",
        Part::Status => "status",
        Part::Scale => "scale",
    };
    let same =
        |it: &Owner| it.manager == manager && it.operation == operation && it.subresource == subresource;
    let place = owners.iter().position(same).unwrap_or_else(|| {
        owners.push(Owner {
            manager: manager.to_owned(),
            operation: operation.to_owned(),
            subresource: subresource.to_owned(),
            time: None,
            fields: Fields::new(),
        });
        owners.len() - 1
    });
    &mut owners[place]
}

/// Notes who wrote what differs now. Nothing is noted for a caller without a manager, unless others are noted already.
pub(super) fn note(
    resource: Resource,
    now: Timestamp,
    caller: &Caller,
    part: Part,
    before: Option<&Value>,
    after: &mut Value,
) {
    // Who sends owners along, such as a client that moves its fields from one name to another, is believed.
    if list(after, &["metadata", "managedFields"]).is_empty() {
        let known = before.and_then(|it| object::at(it, &["metadata", "managedFields"])).cloned();
        let meta = map_at(after, &["metadata"]);
        match known {
            Some(known) => drop(meta.insert("managedFields".to_owned(), known)),
            None => drop(meta.remove("managedFields")),
        }
    }
    let manager = caller.manager.as_deref();
    let mut owners = read(after);
    if owners.is_empty() && (manager.is_none() || before.is_some()) {
        return;
    }
    let present = fields::of(resource, after);
    let changed: Fields = match before {
        None => present.clone(),
        Some(before) => present
            .iter()
            .filter(|path| fields::at(before, path) != fields::at(after, path))
            .cloned()
            .collect(),
    };
    // An element of a list is changed by what is in it; it belongs to whoever made it.
    let taken: Fields = changed
        .into_iter()
        .filter(|path| {
            let is_element = path.last().is_some_and(|step| step.starts_with("k:"));
            !is_element || before.is_none_or(|before| fields::at(before, path).is_none())
        })
        .collect();
    let mut moved = !taken.is_empty();
    for owner in &mut owners {
        let had = owner.fields.len();
        owner.fields.retain(|path| !taken.contains(path) && fields::at(after, path).is_some());
        moved |= owner.fields.len() != had;
    }
    if !moved {
        return;
    }
    if let Some(manager) = manager.filter(|_| !taken.is_empty()) {
        let mine = entry(&mut owners, manager, "Update", part);
        mine.time = Some(moment(now));
        mine.fields.extend(taken);
    }
    write(resource, after, &owners);
}

/// Notes whose object it is that was made by applying it.
pub(super) fn first(resource: Resource, now: Timestamp, object: &mut Value, apply: &Apply) {
    let mut owners = Vec::new();
    let mine = entry(&mut owners, &apply.manager, "Apply", Part::Whole);
    mine.time = Some(moment(now));
    mine.fields = fields::of(resource, &apply.wanted);
    write(resource, object, &owners);
}

/// The object as an applier wants it: their fields are written, and those that they no longer want and nobody else has
/// are taken out. A field that another manager set to another value is a conflict, unless it is taken by force.
pub(super) fn apply(
    resource: Resource,
    now: Timestamp,
    part: Part,
    before: &Value,
    apply: &Apply,
) -> Result<Value, Refusal> {
    let mut owners = read(before);
    if owners.is_empty() {
        let all = fields::of(resource, before);
        owners.push(Owner {
            manager: BEFORE.to_owned(),
            operation: "Update".to_owned(),
            subresource: String::new(),
            time: None,
            fields: all,
        });
    }
    let wanted = fields::of(resource, &apply.wanted);
    settle_conflicts(resource, before, apply, &wanted, &mut owners)?;
    let mut after = before.clone();
    fields::merge(resource, "", &mut after, &apply.wanted);
    let mine = entry(&mut owners, &apply.manager, "Apply", part);
    let dropped: Fields = mine.fields.difference(&wanted).cloned().collect();
    if mine.fields != wanted {
        mine.time = Some(moment(now));
    }
    mine.fields = wanted;
    // An element of a list stands before its fields, and takes them along.
    for path in &dropped {
        let kept = owners.iter().any(|it| it.fields.iter().any(|other| other.starts_with(path)));
        if !kept {
            fields::remove(&mut after, path);
        }
    }
    write(resource, &mut after, &owners);
    Ok(after)
}

fn settle_conflicts(
    resource: Resource,
    before: &Value,
    apply: &Apply,
    wanted: &Fields,
    owners: &mut [Owner],
) -> Result<(), Refusal> {
    let mut conflicts: Vec<(String, Vec<String>)> = Vec::new();
    for owner in owners.iter_mut().filter(|it| !(it.applies() && it.manager == apply.manager)) {
        let differs = |path: &&fields::Path| {
            let is_element = path.last().is_some_and(|step| step.starts_with("k:"));
            !is_element
                && wanted.contains(*path)
                && fields::at(before, path) != fields::at(&apply.wanted, path)
        };
        let fought: Vec<fields::Path> = owner.fields.iter().filter(differs).cloned().collect();
        if fought.is_empty() {
            continue;
        }
        if apply.force {
            owner.fields.retain(|path| !fought.contains(path));
        } else {
            conflicts.push((owner.named(resource), fought.iter().map(|it| fields::shown(it)).collect()));
        }
    }
    if conflicts.is_empty() { Ok(()) } else { Err(refused(&conflicts)) }
}

fn refused(conflicts: &[(String, Vec<String>)]) -> Refusal {
    let count: usize = conflicts.iter().map(|(_, fields)| fields.len()).sum();
    let said: Vec<String> = conflicts
        .iter()
        .map(|(owner, fields)| match fields.as_slice() {
            [only] => format!("conflict with {owner}: {only}"),
            many => format!("conflicts with {owner}:\n- {}", many.join("\n- ")),
        })
        .collect();
    let noun = if count == 1 { "conflict" } else { "conflicts" };
    let message = format!("Apply failed with {count} {noun}: {}", said.join("\n"));
    let mut refusal = Refusal::new(409, "Conflict", message);
    let causes: Vec<Value> = conflicts
        .iter()
        .flat_map(|(owner, fields)| {
            fields.iter().map(move |field| {
                json!({"reason": "FieldManagerConflict", "message": format!("conflict with {owner}"), "field": field})
            })
        })
        .collect();
    refusal.details = Some(json!({"causes": causes}));
    refusal
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(before: &Value, manager: &str, data: &Value, force: bool) -> Result<Value, Refusal> {
        let wanted = json!({"metadata": {"name": "one"}, "data": data});
        let request = Apply { wanted, manager: manager.to_owned(), force };
        apply(Resource::ConfigMaps, Timestamp::UNIX_EPOCH, Part::Whole, before, &request)
    }

    fn first_applied(data: &Value) -> Value {
        let mut object = json!({"metadata": {"name": "one"}, "data": data});
        let request = Apply { wanted: object.clone(), manager: "git".to_owned(), force: false };
        first(Resource::ConfigMaps, Timestamp::UNIX_EPOCH, &mut object, &request);
        object
    }

    #[test]
    fn an_applier_takes_out_what_it_no_longer_wants_and_nobody_else_has() {
        let before = first_applied(&json!({"a": "1", "b": "2"}));
        let shared = applied(&before, "other", &json!({"b": "2"}), false).unwrap();
        let after = applied(&shared, "git", &json!({}), false).unwrap();
        assert_eq!(after["data"], json!({"b": "2"}));
    }

    #[test]
    fn another_value_is_a_conflict_that_names_the_owner_and_the_field() {
        let before = first_applied(&json!({"a": "1"}));
        let refusal = applied(&before, "other", &json!({"a": "2"}), false).unwrap_err();
        assert_eq!(refusal.message, "Apply failed with 1 conflict: conflict with \"git\": .data.a");
        let after = applied(&before, "other", &json!({"a": "2"}), true).unwrap();
        assert_eq!(after["data"], json!({"a": "2"}));
        assert_eq!(
            list(&after, &["metadata", "managedFields"]).len(),
            1,
            "the other manager owns nothing now"
        );
    }

    #[test]
    fn a_plain_write_takes_the_fields_that_it_changes() {
        let before = first_applied(&json!({"a": "1", "b": "2"}));
        let mut after = before.clone();
        after["data"]["a"] = json!("9");
        let person = Caller { manager: Some("person".to_owned()), ..Caller::new("jane") };
        note(Resource::ConfigMaps, Timestamp::UNIX_EPOCH, &person, Part::Whole, Some(&before), &mut after);
        let left = applied(&after, "git", &json!({"b": "2"}), false).unwrap();
        assert_eq!(left["data"], json!({"a": "9", "b": "2"}));
    }
}
