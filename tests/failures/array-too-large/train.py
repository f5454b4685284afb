data = bytearray(1 << 60)
