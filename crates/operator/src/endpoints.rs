//! What a cluster asks an operator: whether it lives, whether it is ready, and its numbers.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use tokio::net::TcpListener;

use crate::metrics::Metrics;
use crate::notice::{Notice, Observer};

/// What Prometheus wants to be told about the text.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Addresses to listen on, the first that can be had: `:8080` is every address of the machine, of either kind.
pub type Bind = Vec<SocketAddr>;

/// Where an operator answers; nowhere where there is no address.
#[derive(Clone, Debug, Default)]
pub struct Endpoints {
    /// `/livez`, `/readyz`.
    pub health: Bind,
    /// `/metrics`.
    pub metrics: Bind,
}

impl Endpoints {
    /// Begins to listen; answers from then on, for as long as the runtime turns.
    pub async fn serve(&self, metrics: &Arc<Metrics>, observer: &dyn Observer) -> io::Result<()> {
        let health = Router::new()
            .route("/livez", get(async || "ok"))
            .route("/healthz", get(async || "ok"))
            .route("/readyz", get(readyz));
        let numbers = Router::new().route("/metrics", get(numbers));
        // Port 0 is a port of its own, every time.
        let fixed = self.health.iter().all(|address| address.port() != 0);
        if fixed && self.health == self.metrics {
            return listen("all", &self.health, health.merge(numbers), metrics, observer).await;
        }
        listen("health", &self.health, health, metrics, observer).await?;
        listen("metrics", &self.metrics, numbers, metrics, observer).await
    }
}

async fn listen(
    what: &'static str,
    bind: &Bind,
    router: Router<Arc<Metrics>>,
    metrics: &Arc<Metrics>,
    observer: &dyn Observer,
) -> io::Result<()> {
    let Some(first) = bind.first() else {
        return Ok(());
    };
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{first}: {error}"));
    let socket = TcpListener::bind(&**bind).await.map_err(named)?;
    let address = socket.local_addr()?;
    observer.notice(&Notice::Listening { what, address });
    let router = router.with_state(Arc::clone(metrics));
    tokio::spawn(axum::serve(socket, router).into_future());
    Ok(())
}

/// Ready once every job and pod has been seen. One that stands by is ready too: it may have to act at any time.
async fn readyz(State(metrics): State<Arc<Metrics>>) -> (StatusCode, &'static str) {
    match (metrics.is_ready(), metrics.leads()) {
        (false, _) => (
            StatusCode::SERVICE_UNAVAILABLE,
            "not all jobs and pods have been seen yet",
        ),
        (true, true) => (StatusCode::OK, "ok, acting"),
        (true, false) => (StatusCode::OK, "ok, leadership by"),
    }
}

async fn numbers(State(metrics): State<Arc<Metrics>>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, OPEN_METRICS)], metrics.text())
}
