"""From raw subtitles to emotional dialogues (Xie and Pu 2021, MEED2, section 3)."""
