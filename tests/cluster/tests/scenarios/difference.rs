//! Two texts, line by line: what only one of them has, under the heading that it belongs to.

use std::fmt::Write as _;

/// The lines that differ, each with the heading above it.
pub(crate) fn lines(left: &str, right: &str) -> String {
    let (left, right): (Vec<&str>, Vec<&str>) = (left.lines().collect(), right.lines().collect());
    let common = common(&left, &right);
    let (mut one, mut other) = (0, 0);
    let (mut heading, mut shown) = ("", "");
    let mut text = String::new();
    while one < left.len() || other < right.len() {
        let same = one < left.len() && other < right.len() && left[one] == right[other];
        let take_left =
            other == right.len() || (one < left.len() && common[one + 1][other] >= common[one][other + 1]);
        let (mark, line) = match (same, take_left) {
            (true, _) => (' ', left[one]),
            (false, true) => ('-', left[one]),
            (false, false) => ('+', right[other]),
        };
        if !line.starts_with(' ') {
            heading = line;
        }
        if !same {
            if shown != heading && line != heading {
                writeln!(text, "    {heading}").unwrap();
                shown = heading;
            }
            writeln!(text, "  {mark} {line}").unwrap();
        }
        one += usize::from(same || take_left);
        other += usize::from(same || !take_left);
    }
    text
}

/// How many lines the rests of both texts have in common, from every pair of places on.
fn common(left: &[&str], right: &[&str]) -> Vec<Vec<usize>> {
    let mut common = vec![vec![0; right.len() + 1]; left.len() + 1];
    for one in (0..left.len()).rev() {
        for other in (0..right.len()).rev() {
            common[one][other] = if left[one] == right[other] {
                common[one + 1][other + 1] + 1
            } else {
                common[one + 1][other].max(common[one][other + 1])
            };
        }
    }
    common
}

#[test]
fn a_line_that_only_one_side_has_is_shown_under_its_heading() {
    let told = lines(
        "pods:\n  a comes\n  a goes\nset:\n  x\n",
        "pods:\n  a comes\n  b comes\n  a goes\nset:\n  y\n",
    );
    assert_eq!(told, "    pods:\n  +   b comes\n    set:\n  -   x\n  +   y\n");
}
