//! The second opinion: looks at what went into a decision and what came out, and lists what breaks an invariant of
//! DESIGN section 5. It is written without looking at `decide`, so that a mistake has to be made twice to go unseen.
