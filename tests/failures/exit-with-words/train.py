raise SystemExit("no data found in /data")
