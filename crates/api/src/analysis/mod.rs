//! The kinds of analysis (argoproj.io/v1alpha1) as Argo Rollouts' users write them: templates, and runs of them.

mod run;
mod template;

pub use run::{
    AnalysisRun, AnalysisRunSpec, AnalysisRunStatus, Measurement, MetricResult, Phase, RunSummary,
    TtlStrategy,
};
pub use template::{
    AnalysisTemplate, AnalysisTemplateSpec, Argument, ClusterAnalysisTemplate, ClusterAnalysisTemplateSpec,
    DryRun, FieldReference, ForEachPod, MeasurementRetention, Metric, SecretKeyReference, TemplateReference,
    ValueFrom,
};
