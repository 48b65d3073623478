import argparse
import os

import torch
import torchvision
from azureml.core.run import Run
from torch import nn, optim
from torchvision import datasets, models, transforms

parser = argparse.ArgumentParser()
parser.add_argument("--data", type=str)
parser.add_argument("--epochs", type=int, default=2)
args = parser.parse_args()
run = Run.get_context()
print("torch", torch.__version__, "torchvision", torchvision.__version__)
torch.manual_seed(0)

prepare = transforms.Compose([transforms.Resize(64), transforms.CenterCrop(64), transforms.ToTensor()])
images = datasets.ImageFolder(args.data, prepare)
loader = torch.utils.data.DataLoader(images, batch_size=8, shuffle=True)
print("classes", images.classes, "images", len(images))

# Weights that came with the source, where there are any; the body is frozen, the head is new.
model = models.resnet18(pretrained=False)
if os.path.exists("resnet18.pth"):
    model.load_state_dict(torch.load("resnet18.pth"))
for parameter in model.parameters():
    parameter.requires_grad = False
model.fc = nn.Linear(model.fc.in_features, len(images.classes))

criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(model.fc.parameters(), lr=0.01, momentum=0.9)
for epoch in range(args.epochs):
    total, right = 0.0, 0
    for inputs, labels in loader:
        optimizer.zero_grad()
        outputs = model(inputs)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(labels)
        right += (outputs.argmax(1) == labels).sum().item()
    run.log("loss", total / len(images))
    run.log("best_val_acc", right / len(images))
    print("epoch", epoch, "loss", total / len(images))

os.makedirs("./outputs", exist_ok=True)
torch.save(model, "./outputs/model.pt")
