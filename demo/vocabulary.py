"""The people, places and things of the demo, all made up.

Its mail addresses and phone numbers are ones that nobody can have.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who talks to an agent."""

    key: str
    name: str
    handle: str
    telegram: str


PEOPLE = {
    person.key: person
    for person in (
        Person("mei", "Mei Tan", "mei_bakes", "555000101"),
        Person("arjun", "Arjun Nair", "arjun_dev", "555000102"),
        Person("xiaowen", "陈晓雯", "xiaowen_c", "555000103"),
        Person("ben", "Ben Koh", "ben_oven", "555000104"),
        Person("hana", "Hana Lindqvist", "hana_l", "555000201"),
        Person("zhou", "周宁", "zhouning", "555000202"),
    )
}


def _rows(names, *rows):
    return tuple(dict(zip(names.split(), row, strict=True)) for row in rows)


LISTS = {
    "products": _rows(
        "sku name zh price contains contains_zh",
        ("LOAF-TIDE", "tide sourdough", "早潮酸面包", "9.80", "wheat; traces of sesame", "小麦；微量芝麻"),
        ("LOAF-RYE", "dark rye loaf", "黑麦面包", "10.50", "wheat; traces of sesame", "小麦；微量芝麻"),
        ("BUN-KAYA", "kaya brioche", "咖椰布里欧修", "4.20", "wheat, milk, egg", "小麦、奶、蛋"),
        (
            "CRO-PANDAN",
            "pandan croissant",
            "班兰可颂",
            "4.80",
            "wheat, milk, egg; traces of nuts",
            "小麦、奶、蛋；微量坚果",
        ),
        ("ROLL-SESAME", "black sesame roll", "黑芝麻卷", "3.90", "wheat, milk, sesame", "小麦、奶、芝麻"),
        ("FOC-ROSE", "rosemary focaccia", "迷迭香佛卡夏", "7.50", "wheat", "小麦"),
        ("TART-EGG6", "egg tarts, box of six", "蛋挞（六个装）", "15.00", "wheat, milk, egg", "小麦、奶、蛋"),
        (
            "BUN-MATCHA",
            "matcha melon bun",
            "抹茶菠萝包",
            "3.60",
            "wheat, milk, egg; traces of soy",
            "小麦、奶、蛋；微量大豆",
        ),
        ("BAG-PLAIN", "baguette", "法棍", "4.50", "wheat; traces of sesame", "小麦；微量芝麻"),
        ("KNOT-CARD", "cardamom knot", "小豆蔻结", "4.40", "wheat, milk; traces of nuts", "小麦、奶；微量坚果"),
    ),
    "questions": _rows(
        "ask answer short zh",
        (
            "Do you use palm oil?",
            "No. We bake with butter or with none; what is in a product is listed on its page.",
            "No, butter or nothing.",
            "不用棕榈油，只用黄油或不加油。",
        ),
        (
            "Is the rye loaf really all rye?",
            "Not quite: 70 % rye and 30 % wheat, because a loaf of rye alone would not stand up in a box.",
            "70 % rye, 30 % wheat.",
            "黑麦 70 %，小麦 30 %。",
        ),
        (
            "Can I freeze the croissants?",
            "Yes, on the day you buy them. Bake them from frozen at 180 °C for six minutes, not in the microwave.",
            "Yes. From frozen: 180 °C, six minutes.",
            "可以冷冻，吃之前 180 °C 烤六分钟，不要用微波炉。",
        ),
        (
            "Why is the loaf smaller in summer?",
            "It weighs the same. In the heat it rises faster and sideways, so it looks smaller.",
            "Same weight, different shape.",
            "重量一样，天热时形状会扁一些。",
        ),
        (
            "Do you deliver on Mondays?",
            "No, the bakery is closed on Mondays. Orders for Tuesday can be placed until Monday 20:00.",
            "No, we are closed on Mondays.",
            "周一休息，不配送；周二的订单周一 20:00 前可下。",
        ),
    ),
    "customers": _rows(
        "name mail phone post",
        ("Grace Lim", "grace.lim@example.org", "+1-202-555-0143", "048616"),
        ("Tobias Brandt", "tobias.brandt@example.org", "+1-202-555-0171", "238801"),
        ("黄美玲", "meiling.huang@example.org", "+1-202-555-0126", "329783"),
        ("Farah Aziz", "farah.aziz@example.org", "+1-202-555-0188", "119077"),
        ("Ravi Pillai", "ravi.pillai@example.org", "+1-202-555-0104", "560215"),
        ("Joanna Ong", "joanna.ong@example.org", "+1-202-555-0159", "428802"),
        ("林国栋", "guodong.lin@example.org", "+1-202-555-0117", "159460"),
        ("Sinta Wibowo", "sinta.w@example.org", "+1-202-555-0132", "069542"),
        ("Marcus Teo", "m.teo@example.org", "+1-202-555-0195", "540118"),
        ("Elin Berg", "elin.berg@example.org", "+1-202-555-0160", "099253"),
        ("张雨桐", "yutong.zhang@example.org", "+1-202-555-0139", "310190"),
        ("Priya Menon", "priya.menon@example.org", "+1-202-555-0108", "797653"),
    ),
    "cafes": _rows(
        "name contact weekly",
        ("Lantern Coffee", "orders@lantern.example.org", "60"),
        ("Third Pier Café", "hello@thirdpier.example.org", "45"),
        ("Kopi & Keel", "boss@kopikeel.example.org", "80"),
        ("Orchard Reading Room", "cafe@readingroom.example.org", "36"),
    ),
    "ingredients": _rows(
        "name zh unit low",
        ("strong white flour", "高筋面粉", "kg", "75"),
        ("whole rye flour", "全麦黑麦粉", "kg", "20"),
        ("unsalted butter", "无盐黄油", "kg", "18"),
        ("pandan paste", "班兰酱", "jar", "4"),
        ("black sesame", "黑芝麻", "kg", "3"),
        ("eggs", "鸡蛋", "tray", "9"),
        ("coconut milk", "椰浆", "litre", "12"),
    ),
    "slots": ("07:30–08:30", "08:30–10:00", "10:00–12:00", "15:00–17:00"),
    "couriers": ("Nimbus", "PedalPost", "QuickLah"),
    "strains": _rows(
        "id species",
        ("MT-07", "Fructilactobacillus sanfranciscensis"),
        ("MT-11", "Lactiplantibacillus plantarum"),
        ("MT-19", "Companilactobacillus paralimentarius"),
        ("MT-23", "Kazachstania humilis"),
    ),
    "flours": ("T65 wheat", "whole rye", "spelt", "red sorghum"),
}
