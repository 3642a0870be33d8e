"""Chapter 8."""

from tests.notebooks.try_it.line import Lines, Try

LINES: Lines = {
    1: (
        '`ModelSpec.from_config("config.json")`',
        [
            Try(
                (3,),
                then="""
import json
with open("config.json", "w") as file:
    json.dump({"model_type": "llama", "num_hidden_layers": 16, "num_attention_heads": 32,
               "num_key_value_heads": 8, "hidden_size": 2048, "torch_dtype": "bfloat16"}, file)
print(size_v1(ModelSpec.from_config("config.json"), 4 * GIB).tokens)
""",
                shows=r"\(131072, 131072\)",
            )
        ],
    ),
    2: ("256", []),
    3: (
        "`error_of(out8)`",
        [
            Try(
                (4,),
                {"fp8-write-setup": change},
                then="print('error', error_of(out8))",
                shows=r"error 0\.0",
            )
            for change in (
                {"torch.manual_seed(0)": "torch.manual_seed(1)"},
                {"HEAD_DIM, LENGTH = 2, 64, 160": "HEAD_DIM, LENGTH = 2, 64, 16"},
                {"HEAD_DIM, LENGTH = 2, 64, 160": "HEAD_DIM, LENGTH = 2, 64, 400"},
            )
        ],
    ),
    4: (
        "`factors`",
        [
            Try(
                (4,),
                {
                    "fp8-scale-setup": {
                        "[0.01, 1.0, 100.0]": "[0.01, 1.0, 100.0, 1_000, 10_000, 100_000]"
                    }
                },
                shows=r"100,000 times the right scale: error +1?\d\d%",
            )
        ],
    ),
}
