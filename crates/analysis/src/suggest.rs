//! What somebody may have meant by a word that nobody knows.

/// The known word that is nearest, if one is near enough to be a slip of the keyboard.
pub fn did_you_mean<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let lower = word.to_lowercase();
    let far = |candidate: &str| strsim::damerau_levenshtein(&lower, &candidate.to_lowercase());
    let length = word.chars().count();
    let tolerated = 1 + length / 6;
    known
        .iter()
        // Words whose lengths differ more are further apart. To measure how far would take as long as they are.
        .filter(|candidate| candidate.chars().count().abs_diff(length) <= tolerated)
        .map(|candidate| (far(candidate), *candidate))
        .filter(|(far, _)| *far <= tolerated)
        .min_by_key(|(far, _)| *far)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::did_you_mean;

    #[test]
    fn a_slip_is_recognised_and_another_word_is_not() {
        let known = ["replicas", "minReadySeconds", "ordinals"];
        assert_eq!(did_you_mean("replica", &known), Some("replicas"));
        assert_eq!(did_you_mean("minreadyseconds", &known), Some("minReadySeconds"));
        assert_eq!(did_you_mean("paused", &known), None);
        let long = "replicas".repeat(100_000);
        assert_eq!(did_you_mean(&long, &known), None, "at once, however long it is");
    }
}
