//! Events as objects. Their names are made from what they tell, so that telling twice after a crash creates nothing new.

use std::hash::{DefaultHasher, Hash, Hasher};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::Resource;
use windlass_api::EventText;

/// The component that events come from.
const COMPONENT: &str = "windlass";

/// An event about an object.
pub(crate) fn event<K>(object: &K, text: &EventText, now: Timestamp) -> Event
where
    K: Resource<DynamicType = ()>,
{
    let meta = object.meta();
    let mut hasher = DefaultHasher::new();
    (&meta.uid, &meta.resource_version, text.reason, &text.note).hash(&mut hasher);
    let name = format!("{}.{:016x}", meta.name.as_deref().unwrap_or_default(), hasher.finish());
    Event {
        metadata: ObjectMeta { name: Some(name), namespace: meta.namespace.clone(), ..ObjectMeta::default() },
        involved_object: ObjectReference {
            api_version: Some(K::api_version(&()).into_owned()),
            kind: Some(K::kind(&()).into_owned()),
            namespace: meta.namespace.clone(),
            name: meta.name.clone(),
            uid: meta.uid.clone(),
            resource_version: meta.resource_version.clone(),
            ..ObjectReference::default()
        },
        type_: Some(text.kind.as_str().to_owned()),
        reason: Some(text.reason.to_owned()),
        message: Some(text.note.clone()),
        first_timestamp: Some(Time(now)),
        last_timestamp: Some(Time(now)),
        count: Some(1),
        source: Some(EventSource { component: Some(COMPONENT.to_owned()), host: None }),
        reporting_component: Some(COMPONENT.to_owned()),
        reporting_instance: Some(COMPONENT.to_owned()),
        ..Event::default()
    }
}
