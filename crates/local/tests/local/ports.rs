//! Ports of runs that look for them at the same time, and a network of a run's own.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::process::{Command, Stdio};

use crate::bench::{Bench, every_user, output};

#[test]
fn six_processes_never_take_the_same_port() {
    const EACH: usize = 64;
    let mut processes: Vec<_> = (0..6)
        .map(|_| {
            Command::new(env!("CARGO_BIN_EXE_fake-run"))
                .args(["take-ports", &EACH.to_string()])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let mut ports = BTreeSet::new();
    for process in &mut processes {
        let mut line = String::new();
        BufReader::new(process.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        for port in line.split_whitespace() {
            let port: u16 = port.parse().unwrap();
            assert!((20_000..32_768).contains(&port), "{port}");
            assert!(ports.insert(port), "{port} was taken twice");
        }
    }
    assert_eq!(ports.len(), 6 * EACH);
    for mut process in processes {
        process.stdin.take().unwrap().write_all(b"\n").unwrap();
        assert!(process.wait().unwrap().success());
    }
}

#[test]
fn an_isolated_run_has_loopback_and_nothing_else() {
    let outside = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = outside.local_addr().unwrap();
    for who in every_user() {
        let words = format!("listen 25000 connect 127.0.0.1:25000 connect {address} connect 192.0.2.1:80");
        let bench = Bench::new(who).set("isolate", true).task("worker-0", &words);
        let said = bench.run();
        assert!(said[0].ends_with("+network"), "{said:?}");
        let heard = output(&said, "worker-0");
        assert_eq!(heard[1], "connected", "{said:?}");
        assert!(heard[2].contains("refused"), "{said:?}");
        assert!(heard[3].contains("unreachable"), "{said:?}");
    }
}
