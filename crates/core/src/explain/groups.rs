//! Ends that have the same response, put together: each group becomes one sentence.

use super::responses::{Act, Response, Responses};

/// Ends of some classes of tasks, in some classes of ends, that have one response.
pub struct Group {
    pub answer: Response,
    pub task_classes: Vec<usize>,
    pub classes: Vec<usize>,
}

/// Every response that is worth a sentence, in the order of a reader's questions.
pub fn groups(responses: &Responses) -> Vec<Group> {
    let mut distinct: Vec<&Response> = Vec::new();
    for case in &responses.cases {
        let quiet = case.answer.act == Act::Keep && !responses.classes[case.class].is_failure();
        if !quiet && !distinct.contains(&&case.answer) {
            distinct.push(&case.answer);
        }
    }
    let mut groups: Vec<Group> = Vec::new();
    for answer in distinct {
        let mut here: Vec<Group> = Vec::new();
        for task_class in 0..responses.task_classes.len() {
            let classes: Vec<usize> = (0..responses.classes.len())
                .filter(|class| responses.get(task_class, *class) == Some(answer))
                .filter(|class| answer.act != Act::Keep || responses.classes[*class].is_failure())
                .collect();
            match here.iter_mut().find(|group| group.classes == classes) {
                _ if classes.is_empty() => {}
                Some(group) => group.task_classes.push(task_class),
                None => here.push(Group {
                    answer: answer.clone(),
                    task_classes: vec![task_class],
                    classes,
                }),
            }
        }
        groups.append(&mut here);
    }
    groups.sort_by_key(|group| rank(responses, group));
    groups
}

/// What comes from outside first, then single codes, then failures of every kind; what goes on before what ends.
fn rank(responses: &Responses, group: &Group) -> (u8, u8) {
    let of = |class: &usize| responses.classes[*class];
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
