//! Who leads: the lease as everybody can read it, and the audit log's word on who wrote what while.

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;

use crate::audit::{self, Request};
use crate::bed::bed;
use crate::controller::Controller;
use crate::wait::until;
use crate::world::World;

impl World {
    /// Who holds the lease; nobody if it was given back or never made.
    pub async fn holder(&self, lease: &str) -> Option<String> {
        let api: Api<Lease> = Api::namespaced(self.client(), &self.namespace);
        let spec = api.get_opt(lease).await.unwrap()?.spec?;
        spec.holder_identity.filter(|holder| !holder.is_empty())
    }

    /// Waits until this controller holds the lease.
    pub async fn until_leads(&self, controller: &Controller) {
        until(&format!("the controller {} leads", controller.pid()), async || {
            let holder = self.holder("windlass").await?;
            is(&holder, controller).then_some(())
        })
        .await;
    }

    /// Waits until the audit log has everything that was answered before now.
    pub async fn until_audited(&self) {
        let Some(log) = &bed().audit_log else { return };
        let position = audit::position(log);
        let marker = format!("marker-{position}");
        let api: Api<ConfigMap> = Api::namespaced(self.client(), &self.namespace);
        assert!(api.get_opt(&marker).await.unwrap().is_none());
        until("the audit log has caught up", async || {
            let requests = audit::since(log, position);
            requests.iter().any(|request| request.object().name == marker).then_some(())
        })
        .await;
    }

    /// What a controller that runs as this account wrote here after the audit log's `position`, and was not refused.
    pub fn accepted_writes(&self, account: &str, position: u64) -> Vec<Request> {
        let Some(log) = &bed().audit_log else { return Vec::new() };
        let mut writes = audit::since(log, position);
        writes.retain(|request| {
            request.is_by(account)
                && request.object().namespace == self.namespace
                && request.is_write()
                && request.is_done()
        });
        writes
    }
}

/// Whether this is the controller's identity.
fn is(identity: &str, controller: &Controller) -> bool {
    identity.contains(&format!("_{}_", controller.pid()))
}

/// When the first of these that concerns the lease was answered.
pub fn took_the_lease(writes: &[Request]) -> Option<Timestamp> {
    writes.iter().find(|request| request.object().resource == "leases").map(|request| request.stage_timestamp)
}
