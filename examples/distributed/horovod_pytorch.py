"""Data parallel training with Horovod and PyTorch: its optimiser averages over the ranks."""

import horovod.torch as hvd
import task
import torch


def main():
    given = task.options()
    hvd.init()
    torch.set_num_threads(1)
    model = torch.nn.Linear(task.FEATURES, task.CLASSES)
    weights, bias = task.start(hvd.rank())
    with torch.no_grad():
        model.weight.copy_(torch.from_numpy(weights.T))
        model.bias.copy_(torch.from_numpy(bias))
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    optimiser = hvd.DistributedOptimizer(
        torch.optim.SGD(model.parameters(), lr=task.RATE), named_parameters=model.named_parameters()
    )
    losses = []
    for step in range(given.steps):
        points, classes = [torch.from_numpy(part) for part in task.share(step, hvd.rank(), hvd.size())]
        optimiser.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(points), classes.argmax(dim=1))
        loss.backward()
        optimiser.step()
        losses.append(hvd.allreduce(loss.detach()).item())
        if hvd.rank() == 0:
            task.log(step, losses[-1])
    row = torch.from_numpy(task.flat(*[value.detach() for value in model.parameters()]))
    task.finish(given, hvd.size(), losses, hvd.allgather(row.unsqueeze(0)).numpy())


if __name__ == "__main__":
    main()
