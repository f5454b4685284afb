//! What keeps pods away from nodes, and what pods do not mind.

use std::fmt;

/// What keeps pods away that do not tolerate it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Taint {
    /// Its name.
    pub key: String,
    /// Its value; may be empty.
    pub value: String,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: String,
}

impl fmt::Display for Taint {
    /// As `kubectl taint` takes it.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.key)?;
        if !self.value.is_empty() {
            write!(out, "={}", self.value)?;
        }
        write!(out, ":{}", self.effect)
    }
}

/// What a pod does not mind.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Toleration {
    /// The taint's name; empty is any, with `Exists`.
    pub key: String,
    /// `Equal`, which is also what nothing means, or `Exists`.
    pub operator: String,
    /// The taint's value, with `Equal`.
    pub value: String,
    /// The taint's effect; empty is any.
    pub effect: String,
}

impl Taint {
    /// Whether it keeps pods away, and does not only make them prefer other nodes.
    #[must_use]
    pub fn is_hard(&self) -> bool {
        self.effect != "PreferNoSchedule"
    }

    /// Whether Kubernetes sets it and takes it away by itself, as while a node is not ready or is cordoned.
    #[must_use]
    pub fn passes(&self) -> bool {
        let prefixes = ["node.kubernetes.io/", "node.cloudprovider.kubernetes.io/"];
        prefixes.iter().any(|prefix| self.key.starts_with(prefix))
    }
}

impl Toleration {
    /// Whether its operator is one that [`covers`](Self::covers) knows.
    #[must_use]
    pub fn is_known(&self) -> bool {
        matches!(self.operator.as_str(), "" | "Equal" | "Exists")
    }

    /// Whether a pod with this does not mind that taint.
    #[must_use]
    pub fn covers(&self, taint: &Taint) -> bool {
        let effect = self.effect.is_empty() || self.effect == taint.effect;
        let key = self.key == taint.key || self.key.is_empty() && self.operator == "Exists";
        let value = match self.operator.as_str() {
            "Exists" => true,
            "" | "Equal" => self.value == taint.value,
            // What we do not know we do not rely on.
            _ => false,
        };
        effect && key && value
    }
}
