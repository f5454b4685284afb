from layers import Attention
