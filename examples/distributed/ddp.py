"""Data parallel training with PyTorch's DistributedDataParallel, over gloo or, with GPUs, over NCCL."""

import os

import task
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def main():
    given = task.options()
    torch.set_num_threads(1)
    # MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE say who and where the others are.
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo", init_method="env://")
    rank, size = dist.get_rank(), dist.get_world_size()
    device = torch.device("cpu")
    if torch.cuda.is_available():  # a process sees all GPUs of its node and takes its own
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
    model = torch.nn.Linear(task.FEATURES, task.CLASSES)
    weights, bias = task.start(rank)
    with torch.no_grad():
        model.weight.copy_(torch.from_numpy(weights.T))
        model.bias.copy_(torch.from_numpy(bias))
    parallel = DistributedDataParallel(model.to(device))  # takes the weights of rank 0
    optimiser = torch.optim.SGD(parallel.parameters(), lr=task.RATE)
    losses = []
    for step in range(given.steps):
        points, classes = [torch.from_numpy(part).to(device) for part in task.share(step, rank, size)]
        optimiser.zero_grad()
        loss = torch.nn.functional.cross_entropy(parallel(points), classes.argmax(dim=1))
        loss.backward()
        optimiser.step()
        total = loss.detach()
        dist.all_reduce(total)
        losses.append(total.item() / size)
        if rank == 0:
            task.log(step, losses[-1])
    row = torch.from_numpy(task.flat(*[value.detach().cpu() for value in model.parameters()])).to(device)
    models = [torch.empty_like(row) for _ in range(size)]
    dist.all_gather(models, row)
    task.finish(given, size, losses, [model.cpu().numpy() for model in models])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
