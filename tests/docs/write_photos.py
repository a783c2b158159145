"""Writes images of one colour each, of several sizes and kinds, to photos/<class>/<name>.png, and prints what
read_npy_files has to print of them: in their order, the class and the sum of the bytes of 32 x 32 pixels."""
import pathlib

from PIL import Image

print("[32, 32, 3] 3")
for number, name in enumerate(["cat", "dog", "owl"]):
    folder = pathlib.Path("photos") / name
    folder.mkdir(parents=True)
    for i in range(4):
        colour = (10 * i + number, 3 * number, 200 - i)
        if i == 3:
            colour = (77 + number,) * 3
            image = Image.new("L", (50, 33), colour[0])
        else:
            image = Image.new("RGB", (20 + 9 * i, 41 - i), colour)
        image.save(folder / f"{i}.png")
        print(number, 32 * 32 * sum(colour))
