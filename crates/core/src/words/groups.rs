//! Ends that have the same answer, put together: each group becomes one sentence.

use super::answers::{Act, Answer, Answers};

/// Ends of some kins, in some classes, that have one answer.
pub struct Group {
    pub answer: Answer,
    pub kins: Vec<usize>,
    pub classes: Vec<usize>,
}

/// Every answer that is worth a sentence, in the order of a reader's questions.
pub fn groups(answers: &Answers) -> Vec<Group> {
    let mut distinct: Vec<&Answer> = Vec::new();
    for case in &answers.cases {
        let quiet = case.answer.act == Act::Keep && !answers.classes[case.class].is_failure();
        if !quiet && !distinct.contains(&&case.answer) {
            distinct.push(&case.answer);
        }
    }
    let mut groups: Vec<Group> = Vec::new();
    for answer in distinct {
        let mut here: Vec<Group> = Vec::new();
        for kin in 0..answers.kins.len() {
            let classes: Vec<usize> = (0..answers.classes.len())
                .filter(|class| answers.get(kin, *class) == Some(answer))
                .filter(|class| answer.act != Act::Keep || answers.classes[*class].is_failure())
                .collect();
            match here.iter_mut().find(|group| group.classes == classes) {
                _ if classes.is_empty() => {}
                Some(group) => group.kins.push(kin),
                None => here.push(Group {
                    answer: answer.clone(),
                    kins: vec![kin],
                    classes,
                }),
            }
        }
        groups.append(&mut here);
    }
    groups.sort_by_key(|group| rank(answers, group));
    groups
}

/// What comes from outside first, then single codes, then failures of every kind; what goes on before what ends.
fn rank(answers: &Answers, group: &Group) -> (u8, u8) {
    let of = |class: &usize| answers.classes[*class];
    let fails = group.classes.iter().any(|class| of(class).is_failure());
    let widely = group
        .classes
        .iter()
        .any(|class| of(class).is_failure() && of(class).codes.is_none());
    let act = match group.answer.act {
        Act::Again { .. } | Act::InPlace => 0,
        Act::Hold => 1,
        Act::End(_) => 2,
        Act::Keep => 3,
    };
    (u8::from(fails) + u8::from(widely), act)
}
