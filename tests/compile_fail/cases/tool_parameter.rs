use pleach::prelude::*;
use serde::Deserialize;

#[derive(Deserialize, schemars::JsonSchema)]
struct City {
    name: String,
}

async fn weather(city: City) -> String {
    city.name
}

async fn forecast(_: ToolContext, Args(city): Args<City>) -> String {
    city.name
}

fn main() {
    tool("weather", "The weather in a city.", weather);
    tool("forecast", "The weather of tomorrow.", forecast);
}
