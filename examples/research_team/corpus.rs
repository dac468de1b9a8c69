//! The texts to search. A real program would search the web or a database instead.

/// A text with a title.
pub(crate) struct Page {
    pub(crate) title: &'static str,
    pub(crate) text: &'static str,
}

pub(crate) const PAGES: [Page; 7] = [
    Page {
        title: "Fur of the sea otter",
        text: "Sea otters have no blubber. Their fur, the densest of all mammals, keeps a layer of air next to the skin.",
    },
    Page {
        title: "Metabolism of otters",
        text: "Sea otters burn energy two to three times as fast as land mammals of their size, which keeps them warm.",
    },
    Page {
        title: "Food of the sea otter",
        text: "A sea otter eats about a quarter of its weight each day: urchins, crabs, clams and fish.",
    },
    Page {
        title: "Grooming",
        text: "Otters groom their fur for hours a day. Dirty fur loses its air, and the otter gets cold.",
    },
    Page { title: "Rafts", text: "Resting sea otters float side by side in rafts, and wrap themselves in kelp." },
    Page { title: "River otters", text: "River otters live in fresh water and sleep in dens on the bank." },
    Page { title: "Walrus", text: "A walrus keeps warm by blubber that is up to fifteen centimetres thick." },
];
