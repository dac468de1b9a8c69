//! The shop's records. A real desk would request them from other systems. They are read-only and never change.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An order of one item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Order {
    pub(crate) number: u32,
    pub(crate) user: String,
    pub(crate) item: String,
    pub(crate) cents: u32,
    pub(crate) delivery: String,
}

/// A customer of the shop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Customer {
    pub(crate) name: String,
    pub(crate) orders: usize,
}

/// The records.
#[derive(Debug)]
pub(crate) struct Shop {
    orders: Vec<Order>,
}

impl Shop {
    pub(crate) fn open() -> Self {
        let order = |number, user: &str, item: &str, cents, delivery: &str| Order {
            number,
            user: user.to_owned(),
            item: item.to_owned(),
            cents,
            delivery: delivery.to_owned(),
        };
        let orders = vec![
            order(1007, "ana", "tea pot", 3400, "is on its way and arrives on Friday"),
            order(1009, "ana", "blue cup", 1250, "was delivered on Monday"),
            order(1010, "ana", "red cup", 1250, "was delivered on Monday"),
            order(1012, "ben", "coffee machine", 18900, "was delivered last week"),
        ];
        Self { orders }
    }

    pub(crate) fn order(&self, number: u32) -> Option<&Order> {
        self.orders.iter().find(|order| order.number == number)
    }

    pub(crate) fn customer(&self, name: &str) -> Customer {
        Customer { name: name.to_owned(), orders: self.orders.iter().filter(|order| order.user == name).count() }
    }
}
