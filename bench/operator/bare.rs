//! The floor: a client that makes given objects as fast as the API server takes them, and decides nothing.
//!
//! It is a process of its own, this program again, so that it starts and connects as an operator does.

use std::fs;

use futures_util::StreamExt as _;
use futures_util::stream;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use crate::process::Running;
use crate::rig::{Rig, Wanted};
use crate::trouble::Trouble;

/// The hidden first argument that makes this program the bare client.
pub const STAGE: &str = "__bare";

/// Starts it for these requests, so many at a time.
pub fn start(rig: &Rig, wanted: &[Wanted], concurrency: usize) -> Result<Running, Trouble> {
    let file = rig.scratch().join("requests.json");
    fs::write(&file, serde_json::to_vec(wanted)?)?;
    let ourselves = std::env::current_exe()?;
    Running::start(
        rig.command(&ourselves)?
            .arg(STAGE)
            .arg(rig.inside())
            .arg(&file)
            .arg(concurrency.to_string()),
    )
}

/// That process.
pub fn run(kubeconfig: &str, requests: &str, concurrency: &str) -> Result<(), Trouble> {
    let wanted: Vec<Wanted> = serde_json::from_slice(&fs::read(requests)?)?;
    let concurrency: usize = concurrency.parse()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let file = Kubeconfig::read_from(kubeconfig)?;
        let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
        let client = Client::try_from(config)?;
        let one = |wanted: Wanted| {
            let client = client.clone();
            async move {
                let answer = client.request_text(wanted.request()?).await;
                answer.map(drop).map_err(Trouble::from)
            }
        };
        let mut all = stream::iter(wanted.into_iter().map(one)).buffer_unordered(concurrency);
        while let Some(answer) = all.next().await {
            answer?;
        }
        Ok(())
    })
}
