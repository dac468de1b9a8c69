use pleach::prelude::*;

struct Opaque;

async fn weather() -> Opaque {
    Opaque
}

fn main() {
    tool("weather", "The weather.", weather);
}
