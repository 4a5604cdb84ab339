"""The models that torchvision lacks, in PyTorch: what tools/make_golden.py and bench/pytorch_step.py compare with.

DeiT (Touvron et al., ICML 2021) without distillation, its parameters named and ordered as in timm's state dict, written
the way these models are written everywhere, with nothing saved and nothing fused; and the trainer's mlp.
"""
import torch
from torch import nn

WIDTHS = {'deit_tiny': (192, 3), 'deit_small': (384, 6)}
DEPTH, PATCH, DROP_PATH, EPS = 12, 16, 0.1, 1e-6


class DropPath(nn.Module):
    """Leaves the branch out for some samples while training (Huang et al., ECCV 2016)."""

    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if self.p == 0 or not self.training:
            return x
        keep = 1 - self.p
        return x * torch.bernoulli(torch.full((x.shape[0], 1, 1), keep, dtype=x.dtype)) / keep


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x):
        n, t, c = x.shape
        q, k, v = self.qkv(x).reshape(n, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) * (c // self.heads) ** -0.5
        return self.proj((scores.softmax(dim=-1) @ v).transpose(1, 2).reshape(n, t, c))


class Mlp(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc1 = nn.Linear(width, 4 * width)
        self.act = nn.GELU()
        self.fc2 = nn.Linear(4 * width, width)

    def forward(self, x):
        return self.fc2(self.act(self.fc1(x)))


class Block(nn.Module):
    def __init__(self, width, heads, drop):
        super().__init__()
        self.norm1 = nn.LayerNorm(width, eps=EPS)
        self.attn = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width, eps=EPS)
        self.mlp = Mlp(width)
        self.drop_path = DropPath(drop)

    def forward(self, x):
        x = x + self.drop_path(self.attn(self.norm1(x)))
        return x + self.drop_path(self.mlp(self.norm2(x)))


class PatchEmbed(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.proj = nn.Conv2d(3, width, PATCH, PATCH)

    def forward(self, x):
        return self.proj(x).flatten(2).transpose(1, 2)


class DeiT(nn.Module):
    def __init__(self, width, heads, image_size, num_classes):
        super().__init__()
        self.cls_token = nn.Parameter(torch.empty(1, 1, width))
        self.pos_embed = nn.Parameter(torch.empty(1, 1 + (image_size // PATCH) ** 2, width))
        self.patch_embed = PatchEmbed(width)
        self.blocks = nn.ModuleList(Block(width, heads, DROP_PATH * i / (DEPTH - 1)) for i in range(DEPTH))
        self.norm = nn.LayerNorm(width, eps=EPS)
        self.head = nn.Linear(width, num_classes)
        for p in [self.cls_token, self.pos_embed] + [m.weight for m in self.modules() if isinstance(m, nn.Linear)]:
            nn.init.trunc_normal_(p, std=0.02)
        for m in self.modules():
            if isinstance(m, nn.Linear):
                nn.init.zeros_(m.bias)

    def forward(self, x):
        x = torch.cat((self.cls_token.expand(x.shape[0], -1, -1), self.patch_embed(x)), dim=1) + self.pos_embed
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


class MLP(nn.Module):
    def __init__(self, image_size, num_classes):
        super().__init__()
        self.fc1 = nn.Linear(3 * image_size * image_size, 512)
        self.fc2 = nn.Linear(512, 512)
        self.head = nn.Linear(512, num_classes)

    def forward(self, x):
        return self.head(self.fc2(self.fc1(x.flatten(1)).relu()).relu())


def make(name, image_size, num_classes):
    """A model of torchvision, or one of these."""
    if name in WIDTHS:
        return DeiT(*WIDTHS[name], image_size, num_classes)
    if name == 'mlp':
        return MLP(image_size, num_classes)
    import torchvision
    options = {'image_size': image_size} if name.startswith('vit_') else {}
    return getattr(torchvision.models, name)(num_classes=num_classes, **options)
