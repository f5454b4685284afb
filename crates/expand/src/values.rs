//! What a template's variables mean for each task. What is the same for all is made once, and what the template does
//! not use is not made at all.

use std::sync::Arc;

use gotmpl::Value;

use crate::hosts::Cast;
use crate::template::UserTemplate;
use crate::tf_config::ClusterText;

pub(crate) struct Values {
    cluster: ClusterText,
    shared: Vec<(Arc<str>, Value)>,
    one_line: bool,
}

impl Values {
    pub(crate) fn of(template: &UserTemplate, cast: &Cast, name: &str) -> Self {
        let number = |number: usize| Value::Int(i64::try_from(number).unwrap_or(i64::MAX));
        let addresses = |hosts: &[String]| {
            let addresses: Vec<String> = hosts.iter().map(|host| format!("{host}:{}", cast.port)).collect();
            Value::String(addresses.join(",").into())
        };
        let hosts: Vec<Value> = cast.hosts().map(|host| Value::String(host.into())).collect();
        let shared = [
            ("num", number(hosts.len())),
            ("hosts", Value::List(Arc::from(hosts))),
            ("ps_hosts", addresses(&cast.ps)),
            ("worker_hosts", addresses(&cast.workers)),
            ("port", Value::Int(cast.port.into())),
            ("name", Value::String(name.into())),
        ];
        let used = shared.into_iter().filter(|(name, _)| template.uses(name));
        Self {
            cluster: ClusterText::of(cast),
            shared: used.map(|(name, value)| (Arc::from(name), value)).collect(),
            one_line: template.uses("TF_CONFIG_JSON"),
        }
    }

    /// Those of one task. The number is text: simpletfjob compared it with `"0"`.
    pub(crate) fn for_task(&self, kind: &str, index: usize, host: &str) -> Value {
        let text = |name: &str, text: &str| (Arc::from(name), Value::String(text.into()));
        let own = [
            text("type", kind),
            text("index", &index.to_string()),
            text("host", host),
            text("TF_CONFIG", &self.cluster.block(kind, index)),
        ];
        let line = self
            .one_line
            .then(|| text("TF_CONFIG_JSON", &self.cluster.line(kind, index)));
        let all = own.into_iter().chain(line).chain(self.shared.iter().cloned());
        Value::Map(Arc::new(all.collect()))
    }
}
