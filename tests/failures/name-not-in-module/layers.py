class SelfAttention:
    pass
