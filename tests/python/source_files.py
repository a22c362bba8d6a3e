"""Small files of the formats of data sets, written to a folder: texts, images and sounds with random contents."""

import json
import os
import struct
import wave
import zlib

import numpy as np


def png(pixels):
    """The bytes of an image u8[height,width] or u8[height,width,3]."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width = pixels.shape[:2]
    lines = b"".join(b"\0" + row.tobytes() for row in np.ascontiguousarray(pixels))
    head = struct.pack(">IIBBBBB", width, height, 8, 2 if pixels.ndim == 3 else 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def idx(array):
    """The bytes of an array in the format of MNIST."""
    kind = {"u1": 8, "i4": 12}[array.dtype.str[1:]]
    head = bytes([0, 0, kind, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    return head + array.astype(array.dtype.newbyteorder(">")).tobytes()


class Files:
    """Writes files under a folder; random contents depend on the order of the calls alone."""

    def __init__(self, folder):
        self.folder, self._random = folder, np.random.default_rng(7)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def write(self, name, content):
        path = self.path(*name.split("/"))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode("utf-8"))

    def numbers(self, *shape, high=256, kind="u1"):
        return self._random.integers(0, high, shape).astype(kind)

    def image(self, name, height=None, width=None, channels=3):
        height, width = height or int(self.numbers(high=5)) + 2, width or int(self.numbers(high=5)) + 2
        self.write(name, png(self.numbers(height, width, 3) if channels == 3 else self.numbers(height, width)))

    def sound(self, name, samples=40, rate=8000):
        path = self.path(*name.split("/"))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with wave.open(path, "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(rate)
            file.writeframes(self.numbers(samples, high=60000, kind="u2").tobytes())


def write_texts(files):
    table = '"3","a title","some, text\\nx"\n"1","b ""q""","more"\n"2",c,d\n'
    files.write("news/train.csv", table)
    files.write("news/test.csv", '"4","t","u"\n')
    files.write("yelp/train.csv", '"1","bad x"\n"2","good"\n')
    files.write("yelp/test.csv", '"1","t"\n')
    files.write("yahoo/train.csv", '"1","q","","a"\n"2","q2","c2","a2"\n')
    files.write("yahoo/test.csv", '"9","q","c","a"\n')
    files.write("plain/a.txt", "one\n\ntwo two\n three \nfour\n")
    files.write("plain/b.txt", "five\nsix\nseven")
    files.write("plain/head.csv", 'c1,c2,c3\n1,2.5,x\n3,"4,5",y z\n\n5,6,"q""r"\n')
    files.write("plain/bare.csv", "1,2.5,x\n3,4,y z\n")
    for usage in ("train", "test", "valid"):
        files.write(f"wiki/wiki.{usage}.tokens", f" \n = {usage} = \n \n a <unk> b \n")
        files.write(f"penn/ptb.{usage}.txt", f" {usage} one \n two <unk> \n")
    files.write("enwik/enwik9", "<a>\n one\n\ntwo\n")
    for usage in ("train", "test"):
        for kind in ("pos", "neg"):
            for i in range(2):
                files.write(f"imdb/{usage}/{kind}/{i}_{i}.txt", f"{usage} {kind} {i}")
    answers = [{"text": "a1", "answer_start": 0}, {"text": "a2", "answer_start": 3}]
    asked = [{"question": "q1", "id": "1", "answers": answers}, {"question": "q2", "id": "2", "answers": []}]
    for usage in ("train", "dev"):
        paragraphs = [{"context": f"{usage} é", "qas": asked}]
        files.write(f"squad/{usage}-v1.1.json", json.dumps({"data": [{"title": "T", "paragraphs": paragraphs}]}))
    files.write("sst2/train.tsv", "sentence\tlabel\nhide new \t0\ngood\t1\n")
    files.write("sst2/dev.tsv", "sentence\tlabel\nx\t1\n")
    files.write("sst2/test.tsv", "index\tsentence\n0\tu v\n1\tw\n")
    files.write("conll/train.txt", "A N B-NP\nb V B-VP\n. . O\n\nc N B-NP\n\n")
    files.write("conll/test.txt", "x N B-NP\n\n")
    for usage in ("train", "test", "dev"):
        files.write(f"udpos/en-ud-tag.v2.{usage}.txt", f"{usage}\tADP\tIN\nthe\tDET\tDT\n\nAP\tPROPN\tNNP\n\n")


def write_translations(files):
    segments = (
        '<?xml version="1.0"?>\n<mteval>\n<srcset setid="x">\n<doc docid="1">\n<url>u</url>\n'
        '<seg id="1"> {} {} a </seg>\n</doc>\n</srcset>\n</mteval>\n'
    )
    lines = "<doc>\n<url>u</url>\n{0} one\n{0} two\n</doc>\n"
    inner = "iwslt17/texts/DeEnItNlRo/DeEnItNlRo/DeEnItNlRo-DeEnItNlRo"
    for one in ("en", "de"):
        files.write(f"multi30k/training/train.{one}", f"{one} one\n{one} two\n")
        files.write(f"multi30k/validation/val.{one}", f"{one} v\n")
        files.write(f"multi30k/mmt16_task1_test/test.{one}", f"{one} t\n")
        files.write(f"iwslt16/texts/de/en/de-en/train.tags.de-en.{one}", lines.format(one))
        for name in ("tst2013", "tst2014"):
            text = segments.format(one, name)
            files.write(f"iwslt16/texts/de/en/de-en/IWSLT16.TED.{name}.de-en.{one}.xml", text)
        files.write(f"{inner}/train.tags.de-en.{one}", lines.format(one))
        for name in ("tst2010", "dev2010"):
            files.write(f"{inner}/IWSLT17.TED.{name}.de-en.{one}.xml", segments.format(one, name))


CLUE = {
    "AFQMC": ({"sentence1": "a", "sentence2": "b", "label": "0"}, {"id": 0, "sentence1": "a", "sentence2": "b"}),
    "CMNLI": ({"sentence1": "a", "sentence2": "b", "label": "neutral"}, {"id": 3, "sentence1": "a", "sentence2": "b"}),
    "CSL": (
        {"id": 1, "abst": "x", "keyword": ["k1", "k2"], "label": "1"},
        {"id": 2, "abst": "x", "keyword": ["k1", "k2"]},
    ),
    "IFLYTEK": ({"label": "110", "label_des": "d", "sentence": "s"}, {"id": 0, "sentence": "s"}),
    "TNEWS": (
        {"label": "108", "label_desc": "n", "sentence": "s", "keywords": "kw"},
        {"id": 0, "sentence": "s", "keywords": "kw"},
    ),
    "WSC": (
        {
            "target": {"span2_index": 37, "span1_index": 5, "span1_text": "t1", "span2_text": "t2"},
            "idx": 0,
            "label": "false",
            "text": "tx",
        },
        {"target": {"span2_index": 7, "span1_index": 5, "span1_text": "t1", "span2_text": "t2"}, "idx": 1, "text": "t"},
    ),
}


def write_clue(files):
    for task, (train, test) in CLUE.items():
        for usage, row in (("train", train), ("test", test)):
            files.write(f"clue/{task}_{usage}.json", (json.dumps(row) + "\n") * 2)


def write_digits(files):
    """Files in the formats of MNIST, CIFAR, STL10, USPS and Semeion."""
    for folder, names in (
        ("fashion", ("train", "t10k")),
        ("emnist", ("emnist-letters-train", "emnist-letters-test")),
        ("qmnist", ("qmnist-train", "qmnist-test", "xnist")),
    ):
        for name in names:
            labels = files.numbers(6, 8, high=9, kind="i4") if folder == "qmnist" else files.numbers(6, high=9)
            files.write(f"{folder}/{name}-images-idx3-ubyte", idx(files.numbers(6, 28, 28)))
            kind = "idx2-int" if folder == "qmnist" else "idx1-ubyte"
            files.write(f"{folder}/{name}-labels-{kind}", idx(labels))
    for name in ("train", "test", "unlabeled"):
        files.write(f"stl10/{name}_X.bin", files.numbers(2, 3 * 96 * 96).tobytes())
        if name != "unlabeled":
            files.write(f"stl10/{name}_y.bin", (files.numbers(2, high=10) + 1).astype("u1").tobytes())
    for name in ("usps", "usps.t"):
        lines = []
        for _ in range(3):
            values = (files.numbers(256, high=2001, kind="i4") / 1000 - 1).tolist()
            label = int(files.numbers(high=10)) + 1
            lines.append(f"{label} " + " ".join(f"{i + 1}:{v:g}" for i, v in enumerate(values)) + " \n")
        files.write(f"usps/{name}", "".join(lines))
    lines = []
    for i in (3, 0, 7):
        pixels = " ".join(f"{v}.0000" for v in files.numbers(256, high=2))
        lines.append(pixels + " " + " ".join(str(int(k == i)) for k in range(10)) + " \n")
    files.write("semeion/semeion.data", "".join(lines))


def write_cifar100(files):
    """Files of all rows, as MindSpore wants them."""
    for name, count in (("train", 50000), ("test", 10000)):
        rows = np.zeros((count, 3074), "u1")
        rows[::997] = files.numbers(len(rows[::997]), 3074)
        rows[:, 0] %= 20
        rows[:, 1] %= 100
        files.write(f"cifar100/{name}.bin", rows.tobytes())


def write_folders(files):
    """Images in folders of their classes."""
    for name in ("a/1.jpg", "a/2.png", "b/x.jpg", "b/y.png"):
        files.image(f"classes/{name}")
    for name in ("001.ak47/001_0001.jpg", "001.ak47/001_0002.jpg", "002.flag/002_0001.jpg"):
        files.image(f"caltech256/{name}")
    for name in ("Faces/image_0001.jpg", "Faces/image_0002.jpg", "ant/image_0001.jpg"):
        files.image(f"caltech101/101_ObjectCategories/{name}")
    for usage in ("train", "test", "valid"):
        for kind in ("negative", "positive"):
            files.image(f"sst2images/{usage}/{kind}/0001.png")
    for kind in ("pie", "ribs"):
        for i in range(3):
            files.image(f"food/images/{kind}/{i}.jpg")
    files.write("food/meta/train.txt", "pie/0\npie/2\nribs/1\n")
    files.write("food/meta/test.txt", "pie/1\nribs/0\nribs/2\n")
    for name in ("images_background/Greek/character01", "images_background/Greek/character02"):
        files.image(f"omniglot/{name}/01.jpg")
        files.image(f"omniglot/{name}/02.jpg")
    files.image("omniglot/images_evaluation/Roman/character01/05.jpg")
    files.write("sun/ClassName.txt", "/a/abbey\n/b/balcony/exterior\n")
    files.image("sun/a/abbey/sun_1.jpg")
    files.image("sun/b/balcony/exterior/sun_2.jpg")
    files.image("sun/b/balcony/exterior/sun_3.jpg")
    for name, faces in (("Ann", 2), ("Bob", 3)):
        for i in range(faces):
            files.image(f"lfw/lfw/{name}/{name}_{i + 1:04}.jpg")
    files.write("lfw/peopleDevTrain.txt", "2\nAnn\t2\nBob\t1\n")
    files.write("lfw/peopleDevTest.txt", "1\nBob\t3\n")
    files.write("lfw/lfw-names.txt", "Ann\t2\nBob\t3\n")
    files.write("lfw/pairsDevTrain.txt", "1\nBob\t1\t2\nAnn\t1\tBob\t3\n")
    files.write("lfw/pairsDevTest.txt", "1\nAnn\t1\t2\nAnn\t2\tBob\t2\n")


def write_lists(files):
    """Images that other files list."""
    for i in range(1, 5):
        files.image(f"celeba/{i:06}.jpg")
    names = " ".join(f"a{i}" for i in range(40))
    lines = [f"{i:06}.jpg " + " ".join("1" if one else "-1" for one in files.numbers(40, high=2)) for i in range(1, 5)]
    files.write("celeba/list_attr_celeba.txt", f"4\n{names}\n" + "\n".join(lines) + "\n")
    files.write("celeba/list_eval_partition.txt", "000001.jpg 0\n000002.jpg 0\n000003.jpg 1\n000004.jpg 2\n")
    for i in range(2):
        files.image(f"flickr/images/{i}.jpg")
    captions = [f"{i}.jpg#{k}\tcaption {i} {k}\n" for i in range(2) for k in range(5)]
    files.write("flickr/captions.token", "".join(captions))
    for i in range(3):
        files.image(f"manifest/{i}.jpg")
    rows = [
        {"source": "{}/manifest/" + f"{i}.jpg", "usage": "train" if i < 2 else "eval", "annotation": [{"name": n}]}
        for i, n in enumerate(("dog", "cat", "dog"))
    ]
    files.write("manifest/list.txt", "".join(json.dumps(row).replace("{}", files.folder) + "\n" for row in rows))
    for i in range(2):
        files.image(f"places/val_256/Places365_val_0000000{i + 1}.jpg")
        files.image(f"places/data_256_standard/a/abbey/0000000{i + 1}.jpg")
    files.write("places/places365_val.txt", "Places365_val_00000001.jpg 1\nPlaces365_val_00000002.jpg 0\n")
    files.write("places/categories_places365.txt", "/a/abbey 0\n/b/bar 1\n")
    files.write("places/places365_train_standard.txt", "/a/abbey/00000001.jpg 0\n/a/abbey/00000002.jpg 0\n")
    for i in range(2):
        files.image(f"sbu/sbu_images/m_33_{i}_a.jpg")
    urls = "".join(f"http://static.flickr.com/33/{i}_a.jpg\n" for i in range(2))
    files.write("sbu/SBU_captioned_photo_dataset_urls.txt", urls)
    files.write("sbu/SBU_captioned_photo_dataset_captions.txt", "first one\nsecond one\n")
    for usage in ("train", "valid"):
        for i in range(2):
            files.image(f"div2k/DIV2K_{usage}_HR/000{i + 1}.png")
            files.image(f"div2k/DIV2K_{usage}_LR_bicubic/X2/000{i + 1}x2.png")
    for city in ("aachen", "bochum"):
        name = f"{city}_000000_000019"
        files.image(f"cities/leftImg8bit/train/{city}/{name}_leftImg8bit.png")
        for kind in ("color", "instanceIds", "labelIds"):
            files.image(f"cities/gtFine/train/{city}/{name}_gtFine_{kind}.png", channels=3 if kind == "color" else 1)
        files.write(f"cities/gtFine/train/{city}/{name}_gtFine_polygons.json", json.dumps({"imgHeight": 3}))


_OBJECT = (
    "<object><name>{}</name><difficult>{}</difficult><truncated>{}</truncated><bndbox><xmin>{}</xmin><ymin>{}</ymin>"
    "<xmax>{}</xmax><ymax>{}</ymax></bndbox></object>"
)


def write_boxes(files):
    """Images with boxes, masks and points: COCO, VOC, KITTI and WIDER FACE."""
    for i in range(3):
        files.image(f"coco/images/{i}.jpg", 12, 14)
    people = [{"id": 1, "name": "person", "supercategory": "p"}, {"id": 7, "name": "car", "supercategory": "v"}]
    boxes = []
    for i, (image, kind) in enumerate(((0, 1), (0, 7), (1, 1), (2, 7))):
        boxes.append(
            {
                "id": i + 10,
                "image_id": image,
                "category_id": kind,
                "iscrowd": 0,
                "bbox": [1.5 + i, 2, 3, 4],
                "area": 12.0 + i,
                "segmentation": [[1.0 * i, 1, 2, 2, 3, 3], [4, 4, 5, 5.5]][: 1 + i % 2],
                "keypoints": [i, 2, 2, 5, 6, 1],
                "num_keypoints": 2,
            }
        )
    images = [{"id": i, "file_name": f"{i}.jpg", "height": 12, "width": 14} for i in range(3)]
    files.write("coco/boxes.json", json.dumps({"images": images, "annotations": boxes, "categories": people}))
    captions = [{"id": i, "image_id": image, "caption": f"c{i}"} for i, image in enumerate((0, 0, 1, 2))]
    files.write("coco/captions.json", json.dumps({"images": images, "annotations": captions}))
    panoptic = [
        {
            "image_id": i,
            "file_name": f"{i}.jpg",
            "segments_info": [{"id": 5 + i, "category_id": 7, "iscrowd": 0, "bbox": [1, 2, 3, 4], "area": 9}],
        }
        for i in range(3)
    ]
    things = [{**one, "isthing": 1} for one in people]
    text = json.dumps({"images": images, "annotations": panoptic, "categories": things})
    files.write("coco/panoptic.json", text)
    write_marks(files)


def write_marks(files):
    """Images of VOC, KITTI and WIDER FACE."""
    for i in range(3):
        name = f"2007_00000{i}"
        files.image(f"voc/JPEGImages/{name}.jpg", 10, 12)
        files.image(f"voc/SegmentationClass/{name}.png", 10, 12)
        objects = "".join(
            _OBJECT.format(kind, k % 2, (k + 1) % 2, 1 + k, 2, 6 + k, 8)
            for k, kind in enumerate(("cat", "train", "cat")[: i + 1])
        )
        files.write(f"voc/Annotations/{name}.xml", f"<annotation><folder>f</folder>{objects}</annotation>")
    for task in ("Main", "Segmentation"):
        files.write(f"voc/ImageSets/{task}/train.txt", "2007_000000\n2007_000002\n")
        files.write(f"voc/ImageSets/{task}/val.txt", "2007_000001\n")
    for i in range(2):
        files.image(f"kitti/data_object_image_2/training/image_2/00000{i}.png")
        lines = "".join(
            f"{kind} 0.{k} 1 -1.5 1.5 2.5 3.5 4.5 1 2 3 4 5 6 7.5\n" for k, kind in enumerate(("Van", "Car"))
        )
        files.write(f"kitti/data_object_label_2/training/label_2/00000{i}.txt", lines)
    files.image("kitti/data_object_image_2/testing/image_2/000000.png")
    for usage in ("train", "val", "test"):
        for i in range(2):
            files.image(f"wider/WIDER_{usage}/images/0--Parade/{i}.jpg")
        boxes = "".join(
            f"0--Parade/{i}.jpg\n{i + 1}\n" + "".join(f"{k} 2 3 4 0 1 0 0 2 1 \n" for k in range(i + 1))
            for i in range(2)
        )
        if usage == "test":
            files.write("wider/wider_face_split/wider_face_test_filelist.txt", "0--Parade/0.jpg\n0--Parade/1.jpg\n")
        else:
            files.write(f"wider/wider_face_split/wider_face_{usage}_bbx_gt.txt", boxes)


def write_matrices(files):
    """Files of MATLAB. Needs scipy."""
    from scipy.io import savemat

    for usage in ("train", "test", "extra"):
        os.makedirs(files.path("svhn"), exist_ok=True)
        content = {"X": files.numbers(32, 32, 3, 4), "y": files.numbers(4, 1, high=10) + 1}
        savemat(files.path("svhn", f"{usage}_32x32.mat"), content)
    for i in range(1, 5):
        files.image(f"flowers/jpg/image_{i:05}.jpg")
        files.image(f"flowers/segmim/segmim_{i:05}.jpg")
    savemat(files.path("flowers", "imagelabels.mat"), {"labels": np.array([[5, 1, 102, 7]], "u1")})
    parts = {"trnid": np.array([[1, 3]]), "valid": np.array([[2]]), "tstid": np.array([[4]])}
    savemat(files.path("flowers", "setid.mat"), parts)
    for name in ("Faces_2/annotation_0001", "Faces_2/annotation_0002", "ant/annotation_0001"):
        os.makedirs(os.path.dirname(files.path("caltech101", "Annotations", f"{name}.mat")), exist_ok=True)
        savemat(files.path("caltech101", "Annotations", f"{name}.mat"), {"obj_contour": files.numbers(2, 4) / 2})


def write_sounds(files):
    for name in ("0_1_0_0_1_1_0_0", "1_1_0_1_0_0_0_1"):
        files.sound(f"yesno/{name}.wav")
    for name in ("blues/blues.00000", "blues/blues.00001", "disco/disco.00000"):
        files.sound(f"gtzan/{name}.wav", rate=22050)
    for i in (1, 2):
        files.sound(f"lj/wavs/LJ001-000{i}.wav", 30 + i, 22050)
    files.write("lj/metadata.csv", "LJ001-0001|Text 1|text one\nLJ001-0002|Text 2|text two\n")
    for name in ("cat/a1_nohash_0", "cat/b2_nohash_1", "dog/a1_nohash_0"):
        files.sound(f"commands/{name}.wav")
    files.write("commands/validation_list.txt", "cat/b2_nohash_1.wav\n")
    files.write("commands/testing_list.txt", "dog/a1_nohash_0.wav\n")
    for i in (1, 2):
        files.sound(f"arctic/cmu_us_aew_arctic/wav/arctic_a000{i}.wav", rate=16000)
    lines = '( arctic_a0001 "First one." )\n( arctic_a0002 "Second one." )\n'
    files.write("arctic/cmu_us_aew_arctic/etc/txt.done.data", lines)


def write_all(folder):
    """Writes all files that need no other package."""
    files = Files(folder)
    for write in (write_texts, write_translations, write_clue, write_digits, write_folders, write_lists, write_boxes):
        write(files)
    write_sounds(files)
    return files
