"""Language models of the llama and qwen2 families on PyTorch."""
